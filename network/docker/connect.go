package docker

import (
	"context"
	"net/netip"

	"nettoll/docker/engine"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// apart refuses several hosts that share no underlay of the lab: traffic between the user's own
// machines would go through their own devices.
func (n *build) apart() error {
	if len(n.engines) > 1 && n.engines[0].Borrowed() {
		return &platform.Unsupported{
			Feature: "traffic between machines of your own", Option: "an address of each that nettoll may use",
			Remedy: "--private-engine starts engines on hosts of the lab",
		}
	}
	return nil
}

// native runs processes of the hosts, without any container.
func native(_ context.Context, n *build) error {
	if !n.engines[0].Here() {
		return &platform.Unsupported{
			Feature: "processes outside containers", Option: "an engine on this machine",
			Remedy: "compare with docker:host (--baseline docker:host)",
		}
	}
	if err := n.apart(); err != nil {
		return err
	}
	n.OnHosts()
	n.Hops = plumb.HostHops
	return nil
}

// hostMode is the network of docker run --network host.
func hostMode(ctx context.Context, n *build) error {
	if err := n.apart(); err != nil {
		return err
	}
	n.Reach = func(_, to *plumb.Node, f network.Family) netip.Addr { return n.OnHost(to.Host).Addr(f) }
	n.Hops = plumb.HostHops
	return n.run(ctx, plain("host"), plain("host"))
}

// sharedMode is the network of docker run --network container:NAME. The first container owns the
// namespace.
func sharedMode(ctx context.Context, n *build) error {
	made, err := n.engines[0].Run(ctx, engine.Spec{Mode: "bridge"})
	if err != nil {
		return err
	}
	owner := nodeOf(n.Hosts[0], made[0])
	mode := plain("container:" + made[0].ID())
	if err := n.run(ctx, mode, mode); err != nil {
		return err
	}
	n.Refuse = n.without6("the default bridge")
	n.Reach = func(from, to *plumb.Node, f network.Family) netip.Addr {
		if !owner.Addr(f).IsValid() { // then engines also disable IPv6 on lo
			return owner.Addr(f)
		}
		return plumb.OverLoopback(from, to, f)
	}
	n.Hops = func(_, _ *plumb.Node, _ network.Family) []network.Hop { return []network.Hop{owner.LoopbackHop()} }
	return nil
}
