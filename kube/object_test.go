package kube_test

import (
	"net/netip"
	"testing"

	"nettoll/kube"
)

// TestFixed checks that the endpoints of a service have all of its ports, in both IP versions, though an EndpointSlice holds
// only a hundred.
func TestFixed(t *testing.T) {
	ports := kube.Ports{First: 20001, Last: 20060}.Named()
	all := kube.Fixed{
		Name: "s", At: kube.ServiceAddrs(0), Ports: ports, To: []netip.Addr{netip.MustParseAddr("198.19.0.2"), netip.MustParseAddr("2001:2:0:1::2")}, Targets: ports,
	}.Objects("here", object{"labels": object{"common": "yes"}, "ownerReferences": "owner"})
	names, count := map[string]bool{}, map[string]int{}
	for i, o := range all {
		if names[o.Path()] {
			t.Errorf("%s is made twice", o.Path())
		}
		names[o.Path()] = true
		meta := o.Body["metadata"].(object)
		labels := meta["labels"].(object)
		if labels["common"] != "yes" || meta["ownerReferences"] != "owner" || i > 0 && labels["kubernetes.io/service-name"] != "s" {
			t.Errorf("%s: metadata %v", o.Path(), meta)
		}
		if i > 0 {
			some := o.Body["ports"].([]object)
			if len(some) > 100 {
				t.Errorf("%s has %d ports", o.Path(), len(some))
			}
			count[o.Body["addressType"].(string)] += len(some)
		}
	}
	if all[0].Path() != "/api/v1/namespaces/here/services/s" || count["IPv4"] != len(ports) || count["IPv6"] != len(ports) {
		t.Errorf("%s, and endpoints with %v ports, want %d", all[0].Path(), count, len(ports))
	}
}
