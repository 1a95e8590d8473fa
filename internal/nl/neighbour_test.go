package nl_test

import (
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
)

func TestForget(t *testing.T) {
	ns := namespaces(t, 2)
	a := netip.MustParseAddr("198.19.0.2")
	in(t, ns[0], func(n *nl.NS) error { return n.AddPair("eth0", ns[1], "eth0", 1500) })
	known := func() (all int) {
		in(t, ns[0], func(n *nl.NS) error {
			list, err := n.NeighList(0, netlink.FAMILY_V4)
			all = len(list)
			return err
		})
		return all
	}
	in(t, ns[0], func(n *nl.NS) error {
		l, err := n.Link("eth0")
		if err != nil {
			return err
		}
		if err := n.Up("eth0"); err != nil {
			return err
		}
		return n.NeighSet(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: a.AsSlice(), HardwareAddr: make([]byte, 6), State: netlink.NUD_STALE})
	})
	if known() != 1 {
		t.Fatal("there is no neighbour to forget")
	}
	for range 2 {
		in(t, ns[0], func(n *nl.NS) error { return n.Forget("eth0", a) })
		if n := known(); n != 0 {
			t.Errorf("%d neighbours are known", n)
		}
	}
}
