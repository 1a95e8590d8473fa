package nl_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
)

func TestInventoryShowsAllThatIsConfigured(t *testing.T) {
	ns := namespaces(t, 2)
	empty := inventory(t, ns[0])
	in(t, ns[0], func(n *nl.NS) error {
		if err := n.AddPair("eth0", ns[1], "eth0", 0); err != nil {
			return err
		}
		if err := n.Add(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}); err != nil {
			return err
		}
		if err := n.Master("eth0", "br0"); err != nil {
			return err
		}
		if err := n.Up("lo", "eth0", "br0"); err != nil {
			return err
		}
		for _, p := range []string{"198.19.0.1/20", "2001:2:0:1::1/64"} {
			for range 2 { // an address that is there already is no error
				if err := n.Addr("br0", prefix(p)); err != nil {
					return err
				}
			}
		}
		if err := n.Route(prefix("198.19.16.0/20"), addr("198.19.0.9"), "br0"); err != nil {
			return err
		}
		if err := n.Route(nl.Default(true), addr("2001:2:0:1::9"), ""); err != nil {
			return err
		}
		return n.Route(nl.Default(false), netip.Addr{}, "br0")
	})
	in(t, ns[1], func(n *nl.NS) error { return n.Up("eth0") })
	fw, err := nft.New(ns[0], "docker")
	if err != nil {
		t.Fatal(err)
	}
	if err := fw.Commit(); err != nil {
		t.Fatal(err)
	}
	want := `device br0 (bridge) mtu 1500 198.19.0.1/20 2001:2:0:1::1/64
device eth0 (veth) mtu 1500 on br0
device lo (device) mtu 65536 127.0.0.1/8 ::1/128
route 198.19.0.0/20 dev br0
route 198.19.16.0/20 via 198.19.0.9 dev br0
route 2001:2:0:1::/64 dev br0
route default dev br0
route default via 2001:2:0:1::9 dev br0
table docker
`
	if got := inventory(t, ns[0]); got != want {
		t.Errorf("inventory is\n%swant\n%s", got, want)
	}

	// What is taken away is gone from it, and taking it away twice does no harm.
	if err := fw.Remove(); err != nil {
		t.Fatal(err)
	}
	in(t, ns[0], func(n *nl.NS) error {
		for range 2 {
			if err := n.Unroute(prefix("198.19.16.0/20")); err != nil {
				return err
			}
			for _, device := range []string{"eth0", "br0"} {
				if err := n.Remove(device); err != nil {
					return err
				}
			}
		}
		l, err := n.Link("lo")
		if err != nil {
			return err
		}
		return n.LinkSetDown(l)
	})
	want = strings.Replace(empty, "65536\n", "65536 127.0.0.1/8\n", 1) // lo keeps its address
	if got := inventory(t, ns[0]); got != want {
		t.Errorf("left:\n%swant\n%s", got, want)
	}
}
