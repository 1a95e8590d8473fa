package kube

import (
	"net/netip"
	"slices"
	"testing"
)

// TestFurtherPoliciesAdmitNobody checks that no two of the policies admit the same address, as long as there are enough of IPv4, and
// that all of these are for documentation.
func TestFurtherPoliciesAdmitNobody(t *testing.T) {
	var nobody []netip.Prefix
	for _, text := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"} {
		nobody = append(nobody, netip.MustParsePrefix(text))
	}
	seen := map[netip.Prefix]bool{}
	for i := range 3 * 256 {
		for _, one := range unused(i) {
			of := func(p netip.Prefix) bool { return p.Contains(one.Addr()) }
			if seen[one] || !one.IsSingleIP() || !slices.ContainsFunc(nobody, of) {
				t.Fatalf("policy %d admits %s", i, one)
			}
			seen[one] = true
		}
	}
}
