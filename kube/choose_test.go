package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

// TestNodesOfLargeClusters has nodes on several pages, of which only as many are read as are needed.
func TestNodesOfLargeClusters(t *testing.T) {
	machine.Loopback(t)
	const nodes, page = 150, 100
	for name, c := range map[string]struct {
		o     OwnOptions
		taint int // nodes, from the first
		want  []string
		pages int
		fails string
	}{
		"any":                       {OwnOptions{}, 0, []string{"node-000", "node-001"}, 1, ""},
		"the first pool is tainted": {OwnOptions{}, 100, []string{"node-100", "node-101"}, 2, ""},
		"all are tainted":           {OwnOptions{}, 150, nil, 2, "has no node that takes pods: "},
		"the other zone is further": {OwnOptions{Zones: OtherZone}, 0, []string{"node-000", "node-100"}, 2, ""},
		"one named":                 {OwnOptions{Nodes: []string{"node-120"}}, 0, []string{"node-120"}, 2, ""},
		"no such node":              {OwnOptions{Nodes: []string{"node-200"}}, 0, nil, 2, "has no node node-200"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				from := 0
				if next := r.URL.Query().Get("continue"); next != "" {
					if next != "from 100&" {
						t.Errorf("it asks for the page %q", next)
					}
					from = page
				}
				var all []nodeState
				for i := from; i < min(from+page, nodes); i++ {
					var n nodeState
					n.Metadata.Name = fmt.Sprintf("node-%03d", i)
					n.Metadata.Labels = map[string]string{"topology.kubernetes.io/zone": fmt.Sprint("zone-", i/page)}
					if i < c.taint {
						n.Spec.Taints = append(n.Spec.Taints, struct{ Key, Effect string }{"gpu", "NoSchedule"})
					}
					all = append(all, n)
				}
				said := map[string]any{"items": all}
				if from+page < nodes {
					said["metadata"] = map[string]string{"continue": "from 100&"}
				}
				iferr.Error(t, json.NewEncoder(w).Encode(said))
			}))
			defer s.Close()
			o := &Own{o: c.o, entrance: &entrance{API: APIBy(s.Client(), s.URL), context: "large"}}
			err := o.choose(t.Context())
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("%v, want %q", err, c.fails)
			}
			if err == nil && !slices.Equal(o.nodes, c.want) || asked != c.pages {
				t.Errorf("%v after %d pages, want %v after %d", o.nodes, asked, c.want, c.pages)
			}
		})
	}
}
