package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// extra is the name that pipework gives the interface in the container.
const extra = "eth1"

// PipeworkVeth returns the driver of the devices that pipework adds to containers on a bridge of
// its own.
func PipeworkVeth() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "pipework-veth", Hosts: []int{1}, Endpoints: plumb.MaxPorts, Overflow: true,
			About: "an extra interface eth1 with a fixed address in each container: a veth pair to a bridge br1 without rules, br_netfilter as the kernel starts it",
		},
		Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice},
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.Hops = plumb.BridgedHops
			return n.Bridge(ctx, n.Site.Hosts[0], "br1", n.Topo.Underlay.MTU, plumb.Attachment{Device: extra})
		},
	}.Driver()
}

// PipeworkMacvlan returns the driver of the devices that pipework adds to containers on the host's
// uplink.
func PipeworkMacvlan() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "pipework-macvlan", Hosts: []int{1, 2},
			About: "an extra interface eth1 with a fixed address in each container: a macvlan device of the host's uplink",
		},
		Needs: []plumb.Need{plumb.Macvlan},
		Build: func(ctx context.Context, n *plumb.Network) error {
			return n.Children(ctx, extra, plumb.MacvlanBridge)
		},
	}.Driver()
}
