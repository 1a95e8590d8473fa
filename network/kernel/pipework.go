package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// extra is the name that pipework gives the interface inside.
const extra = "eth1"

// PipeworkVeth is what pipework adds to containers on a bridge of its own.
func PipeworkVeth() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "pipework-veth", Hosts: []int{1}, Endpoints: plumb.MaxPorts, Overflow: true,
			About: "an extra interface eth1 with a fixed address in each container: a veth pair to a bridge br1 without rules, br_netfilter as the kernel starts it",
		},
		Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice},
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.Hops = plumb.BridgedHops
			h := n.Site.Hosts[0]
			br, err := n.AddBridge(h, "br1", n.Topo.Underlay.MTU, false)
			if err != nil {
				return err
			}
			return br.Attach(ctx, n.Site, h.Nodes, plumb.Plug{Device: extra})
		},
	}.Driver()
}

// PipeworkMacvlan is what pipework adds to containers on the host's uplink.
func PipeworkMacvlan() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "pipework-macvlan", Hosts: []int{1, 2},
			About: "an extra interface eth1 with a fixed address in each container: a macvlan device of the host's uplink",
		},
		Needs: []plumb.Need{plumb.Macvlan},
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.Hops = plumb.ChildHops
			return n.Children(ctx, extra, plumb.MacvlanBridge)
		},
	}.Driver()
}
