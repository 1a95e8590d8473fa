package routedbgp_test

import (
	"context"
	"strings"
	"testing"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/network/routedbgp"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// TestLostRoutes has one host forget the way to the other, while BIRD goes on.
func TestLostRoutes(t *testing.T) {
	platformtest.Require(t, "bird", routedbgp.New(nil).Probe(t.Context(), lab.New()))
	n, err := routedbgp.New(nil).Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(context.Background())
	fault := func(want string) {
		t.Helper()
		err := n.Broken(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	fault("")
	second := n.Hosts[1]
	err = nl.With(second.Facts().NetNS, func(n *nl.NS) error { return n.Unroute(plumb.Subnet(0, true)) })
	if err != nil {
		t.Fatal(err)
	}
	fault("bird on h2 has lost another host: no route to 2001:2:0:1::/64 of h1")
}
