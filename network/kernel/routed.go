package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// bridge is what containers of a host are on, where a network has one.
const bridge = "br0"

// Routed is plain routes between the containers of several hosts, as flannel's host-gw has them.
func Routed() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "routed", Hosts: []int{2}, Endpoints: plumb.MaxPorts, Overflow: true,
			About: "a bridge on each host and plain routes to the containers of the others (host-gw); no encapsulation, no rules",
		},
		Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice},
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.OnWire = plumb.Bare
			n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop {
				return []network.Hop{
					from.Hop(), from.PortHop(), plumb.DeviceHop(from.Host.Name(), from.Host.NS, bridge), from.Host.UplinkHop(),
					to.Host.UplinkHop(), plumb.DeviceHop(to.Host.Name(), to.Host.NS, bridge), to.PortHop(), to.Hop(),
				}
			}
			for _, h := range n.Site.Hosts {
				br, err := n.AddBridge(h, bridge, n.Topo.Underlay.MTU, true)
				if err != nil {
					return err
				}
				if err := br.Attach(ctx, n.Site, h.Nodes, plumb.Plug{Gateway: true}); err != nil {
					return err
				}
				if err := h.Forwarding(); err != nil {
					return err
				}
			}
			return n.RouteContainers()
		},
	}.Driver()
}
