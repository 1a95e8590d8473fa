package kube

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
)

// TestLoadBalancers takes addresses of load balancers that nodes translate. Others, whose packets pass through the load balancer, are
// none, and are not asked for again.
func TestLoadBalancers(t *testing.T) {
	machine.Loopback(t)
	for mode, can := range map[string]bool{"": true, "VIP": true, "Proxy": false} {
		t.Run("mode "+mode, func(t *testing.T) {
			made := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				said := map[string]any{}
				if r.Method == http.MethodPost {
					made++
					said["spec"] = map[string]any{"clusterIPs": []string{"10.96.0.7"}}
				} else {
					said["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.7", "ipMode": mode}}}}
				}
				iferr.Error(t, json.NewEncoder(w).Encode(said))
			}))
			defer s.Close()
			api := APIBy(s.Client(), s.URL)
			c := &Cluster{api: api, namespace: "team", pause: time.Millisecond, own: &Own{entrance: &entrance{API: api, context: "cloud"}}}
			for range 2 {
				err := c.Expose(t.Context(), 0, &Pod{Name: "server"}, Ports{First: 1, Last: 1}, LoadBalancer)
				if can {
					iferr.Fatal(t, err)
					if at := c.BalancerAt(0, false); at != netip.MustParseAddr("192.0.2.7") {
						t.Errorf("it is at %v", at)
					}
					return
				}
				if !errors.Is(err, platform.ErrUnsupported) || !strings.Contains(err.Error(), "ipMode is Proxy") {
					t.Errorf("%v", err)
				}
			}
			if made != 1 {
				t.Errorf("it is asked for %d times", made)
			}
		})
	}
}
