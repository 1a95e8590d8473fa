package kube_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/kube"
)

// TestHeadless checks that a headless service leads to the pod that its own EndpointSlices name, once that is ready.
func TestHeadless(t *testing.T) {
	machine.Loopback(t)
	slice := func(owner string, endpoints ...object) object {
		return object{"metadata": object{"ownerReferences": []object{{"uid": owner}}}, "endpoints": endpoints}
	}
	endpoint := func(at string, conditions object) object {
		return object{"addresses": []string{at}, "conditions": conditions}
	}
	const four, six = "192.0.2.1", "2001:db8::1"
	old, ready := slice("old", endpoint("192.0.2.9", object{"ready": true})), object{"ready": true}
	for name, k := range map[string]struct {
		families []string
		pod      []string
		seen     [][]object // by one question after the other
		want     []string
	}{
		"both": {[]string{"IPv4", "IPv6"}, []string{four, six}, [][]object{
			{},
			{old},
			{old, slice("new")},
			{old, slice("new", endpoint(four, object{"ready": false}))},
			{slice("new", endpoint(four, ready))},
			{slice("new", endpoint(four, ready)), slice("new", endpoint(six, object{}))},
		}, []string{four, six}},
		"of the service":                     {[]string{"IPv6"}, []string{four, six}, [][]object{{slice("new", endpoint(six, ready))}}, []string{six}},
		"of the pod":                         {[]string{"IPv4", "IPv6"}, []string{four}, [][]object{{slice("new", endpoint(four, ready))}}, []string{four}},
		"of the service, and not of the pod": {[]string{"IPv6"}, []string{four}, [][]object{{}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				said := object{}
				switch {
				case r.Method == http.MethodPost:
					var made struct {
						Spec struct{ Type, ClusterIP string }
					}
					if err := json.NewDecoder(r.Body).Decode(&made); err != nil || made.Spec.Type != "ClusterIP" || made.Spec.ClusterIP != "None" {
						t.Errorf("it makes %+v, %v", made, err)
					}
					said = object{"metadata": object{"uid": "new"}, "spec": object{"clusterIPs": []string{"None"}, "ipFamilies": k.families}}
				case r.URL.Query().Get("labelSelector") == "kubernetes.io/service-name=service-1" && strings.HasSuffix(r.URL.Path, "/team/endpointslices"):
					said["items"] = k.seen[min(int(asked.Add(1)), len(k.seen))-1]
				default:
					t.Errorf("it asks for %s", r.URL)
				}
				iferr.Error(t, json.NewEncoder(w).Encode(said))
			}))
			defer s.Close()
			c := kube.ClusterBy(kube.APIBy(s.Client(), s.URL))
			var at []netip.Addr
			for _, text := range k.pod {
				at = append(at, netip.MustParseAddr(text))
			}
			iferr.Fatal(t, c.Expose(t.Context(), 0, kube.PodAt("server", at...), kube.Ports{First: 1, Last: 1}, kube.Headless))
			var got []string
			for _, six := range []bool{false, true} {
				if at := c.EndpointAt(0, six); at.IsValid() {
					got = append(got, at.String())
				}
			}
			if strings.Join(got, " ") != strings.Join(k.want, " ") || int(asked.Load()) != len(k.seen) {
				t.Errorf("it is at %v after %d questions, want %v after %d", got, asked.Load(), k.want, len(k.seen))
			}
		})
	}
}
