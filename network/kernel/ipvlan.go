package kernel

import (
	"context"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// IPVlanL2 returns the driver of containers with ipvlan devices in L2 mode on the host's uplink.
func IPVlanL2() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "ipvlan-l2", Hosts: []int{1, 2},
			About: "ipvlan devices (L2 mode) of the host's uplink, one in each container",
		},
		Needs: []plumb.Need{plumb.IPVlanL2},
		Build: func(ctx context.Context, n *plumb.Network) error {
			return n.Children(ctx, "eth0", plumb.IPVlan(netlink.IPVLAN_MODE_L2))
		},
	}.Driver()
}

// IPVlanL3 returns the driver of the same in L3 mode: there is no neighbour discovery, and the host
// routes.
func IPVlanL3() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "ipvlan-l3", Hosts: []int{1, 2},
			About: "ipvlan devices (L3 mode) of the host's uplink, one in each container, routed by the host",
		},
		Needs: []plumb.Need{plumb.IPVlanL3},
		Build: func(ctx context.Context, n *plumb.Network) error {
			if err := n.Children(ctx, "eth0", plumb.IPVlan(netlink.IPVLAN_MODE_L3)); err != nil {
				return err
			}
			for _, c := range n.Nodes() { // all packets of a container go to its device
				err := nl.With(c.NS, func(in *nl.NS) error { return in.Lead(c.Device, nl.Default(false), nl.Default(true)) })
				if err != nil {
					return err
				}
			}
			return n.RouteContainers()
		},
	}.Driver()
}
