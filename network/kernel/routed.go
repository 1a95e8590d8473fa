package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// bridge is the bridge of a host's containers, in networks that have one.
const bridge = "br0"

// Routed returns the driver of plain routes between the containers of several hosts, like flannel's
// host-gw.
func Routed() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "routed", Hosts: []int{2}, Endpoints: plumb.MaxPorts, Overflow: true,
			About: "a bridge on each host and plain routes to the containers of the others (host-gw); no encapsulation, no rules",
		},
		Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice},
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.OnWire = plumb.Bare
			n.Hops = plumb.Across(func(at *plumb.Node, _ *plumb.Host, _ network.Family) []network.Hop {
				return []network.Hop{at.Host.Hop(bridge, "bridge")}
			})
			for _, h := range n.Site.Hosts {
				if err := n.Bridge(ctx, h, bridge, n.Topo.Underlay.MTU, plumb.Attachment{Gateway: true}); err != nil {
					return err
				}
			}
			return n.RouteContainers()
		},
	}.Driver()
}
