package routedbgp_test

import (
	"strings"
	"testing"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network/networktest"
	"nettoll/network/routedbgp"
)

// TestLostRoutes has one host lose the route to the other, while BIRD keeps running.
func TestLostRoutes(t *testing.T) {
	n := networktest.Build(t, routedbgp.New(nil), networktest.Pair)
	fault := func(want string) {
		t.Helper()
		err := n.Broken(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	fault("")
	second := n.Hosts[1]
	err := nl.With(second.Facts().NetNS, func(n *nl.NS) error { return n.Unroute(plumb.Subnet(0, true)) })
	iferr.Fatal(t, err)
	fault("bird on h2 has lost another host: no route to 2001:2:0:1::/64 of h1")
}
