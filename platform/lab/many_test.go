package lab_test

import (
	"context"
	"net/netip"
	"testing"

	"nettoll/internal/plumb"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/technique"
)

func site(t *testing.T, topo technique.Topology) *plumb.Site {
	t.Helper()
	s, err := plumb.Begin(t.Context(), topo, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestThousandContainersOnOneBridge(t *testing.T) {
	s := site(t, technique.Topology{Hosts: 1, Servers: 1, Clients: 999})
	h := s.Hosts[0]
	br, err := s.AddBridge(h, "br0", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := br.Attach(s, h.Nodes, plumb.Plug{Gateway: true}); err != nil {
		t.Fatal(err)
	}
	names, addrs := map[string]bool{}, map[netip.Addr]bool{}
	for _, n := range h.Nodes {
		names[n.Name()], addrs[n.Addr4], addrs[n.Addr6] = true, true, true
	}
	if len(names) != 1000 || len(addrs) != 2000 {
		t.Errorf("%d names and %d addresses of 1000 containers", len(names), len(addrs))
	}
	first, last := h.Nodes[0], h.Nodes[999]
	for _, f := range []technique.Family{technique.IPv4, technique.IPv6} {
		platformtest.Exchange(t, first.NS, last.NS, last.Addr(f))
		platformtest.Exchange(t, last.NS, h.NS, plumb.Gateway(0, f == technique.IPv6))
	}
}

func TestMoreContainersThanABridgeHasPorts(t *testing.T) {
	s := site(t, technique.Topology{Hosts: 1, Servers: 1, Clients: plumb.MaxPorts})
	h := s.Hosts[0]
	br, err := s.AddBridge(h, "br0", 0, false)
	if err != nil {
		t.Fatal(err)
	}
	err = br.Attach(s, h.Nodes, plumb.Plug{})
	if want := "bridge br0: 1024 containers talk: it has 1023 ports for them"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %q", err, want)
	}
}

func TestNeighboursThatFindNoPortGetABridgeOfTheirOwn(t *testing.T) {
	s := site(t, technique.Topology{Hosts: 1, Servers: 1, Clients: 1, Neighbours: plumb.MaxPorts})
	h := s.Hosts[0]
	br, err := s.AddBridge(h, "br0", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := br.Attach(s, h.Nodes, plumb.Plug{Gateway: true}); err != nil {
		t.Fatal(err)
	}
	platformtest.Exchange(t, s.Clients[0].NS, s.Servers[0].NS, s.Servers[0].Addr4)
	want := "h1: bridge br0 has as many containers as a broadcast can reach; 125 silent ones are on br0x"
	if len(s.Notes) != 1 || s.Notes[0] != want {
		t.Errorf("notes are %q, want %q", s.Notes, want)
	}
}
