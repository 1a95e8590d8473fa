package kernel

import (
	"context"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// IPVlanL2 is containers with ipvlan devices in L2 mode on the host's uplink.
func IPVlanL2() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "ipvlan-l2", Hosts: []int{1, 2},
			About: "ipvlan devices (L2 mode) of the host's uplink, one in each container",
		},
		Needs: []plumb.Need{plumb.IPVlanL2},
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.Hops = plumb.ChildHops
			return n.Children(ctx, "eth0", ipvlan(netlink.IPVLAN_MODE_L2))
		},
	}.Driver()
}

// IPVlanL3 is the same in L3 mode: there are no neighbours to be found, and the host routes.
func IPVlanL3() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "ipvlan-l3", Hosts: []int{1, 2},
			About: "ipvlan devices (L3 mode) of the host's uplink, one in each container, routed by the host",
		},
		Needs: []plumb.Need{plumb.IPVlanL3},
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.Hops = plumb.ChildHops
			if err := n.Children(ctx, "eth0", ipvlan(netlink.IPVLAN_MODE_L3)); err != nil {
				return err
			}
			for _, c := range n.Nodes() {
				if err := leave(c); err != nil {
					return err
				}
			}
			return n.RouteContainers()
		},
	}.Driver()
}

func ipvlan(mode netlink.IPVlanMode) func(netlink.LinkAttrs) netlink.Link {
	return func(attrs netlink.LinkAttrs) netlink.Link { return &netlink.IPVlan{LinkAttrs: attrs, Mode: mode} }
}

// leave sends everything of a container to its device.
func leave(n *plumb.Node) error {
	return nl.With(n.NS, func(in *nl.NS) error {
		for _, six := range []bool{false, true} {
			if err := in.Route(nl.Default(six), netip.Addr{}, n.Device); err != nil {
				return err
			}
		}
		return nil
	})
}
