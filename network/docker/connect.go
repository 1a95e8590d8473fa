package docker

import (
	"context"
	"net/netip"

	"nettoll/docker/engine"
	"nettoll/network"
	"nettoll/platform"
)

// hostAddr is where processes with the host's network are found: its address on the
// underlay, or, on the user's own machine, that of its lo.
func hostAddr(h *engine.Host, f network.Family) netip.Addr {
	six := f == network.IPv6
	switch {
	case !h.Borrowed():
		return h.Addr(six)
	case six:
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// hostHops: the kernel sends what a host says to its own address over lo.
func hostHops(from, to *node, _ network.Family) []network.Hop {
	if from.host != to.host {
		return []network.Hop{hostHop(from.host, from.host.Uplink().Device), hostHop(to.host, to.host.Uplink().Device)}
	}
	hops := []network.Hop{hostHop(from.host, "lo")}
	if device := from.host.Uplink().Device; device != "" {
		hops = append(hops, absent(hostHop(from.host, device)))
	}
	return hops
}

// apart refuses several hosts that share no underlay of the lab: traffic between the
// user's own machines would go through their own devices.
func (n *build) apart() error {
	if len(n.hosts) > 1 && n.hosts[0].Borrowed() {
		return &platform.Unsupported{
			Feature: "traffic between machines of your own", Option: "an address of each that nettoll may use",
			Remedy: "--private-engine starts engines on hosts of the lab",
		}
	}
	return nil
}

// native is no container at all.
func native(_ context.Context, n *build) error {
	if !n.hosts[0].Here() {
		return &platform.Unsupported{
			Feature: "processes outside containers", Option: "an engine on this machine",
			Remedy: "compare with docker:host (--baseline docker:host)",
		}
	}
	if err := n.apart(); err != nil {
		return err
	}
	n.servers = n.outside(n.topo.Servers, func(int) *engine.Host { return n.hosts[0] })
	n.clients = n.outside(n.topo.Clients, n.clientHost)
	n.hops = hostHops
	return nil
}

// hostMode is docker run --network host.
func hostMode(ctx context.Context, n *build) error {
	if err := n.apart(); err != nil {
		return err
	}
	mode := func(*engine.Host, int) engine.Spec { return engine.Spec{Mode: "host"} }
	n.reach = func(_, to *node, f network.Family) (netip.Addr, error) { return hostAddr(to.host, f), nil }
	n.hops = hostHops
	return n.run(ctx, mode, mode)
}

// sharedMode is docker run --network container:NAME. The first container has the
// namespace.
func sharedMode(ctx context.Context, n *build) error {
	owner, err := n.hosts[0].Run(ctx, engine.Spec{Mode: "bridge"})
	if err != nil {
		return err
	}
	mode := func(*engine.Host, int) engine.Spec { return engine.Spec{Mode: "container:" + owner[0].ID()} }
	if err := n.run(ctx, mode, mode); err != nil {
		return err
	}
	n.reach = func(_, _ *node, f network.Family) (netip.Addr, error) {
		switch {
		case f != network.IPv6:
			return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
		case !owner[0].Addr(true).IsValid(): // then engines disable it on lo, too
			return netip.Addr{}, errNoIPv6("the default bridge")
		}
		return netip.IPv6Loopback(), nil
	}
	n.hops = func(_, _ *node, _ network.Family) []network.Hop {
		return []network.Hop{deviceHop(owner[0].Name(), "lo", owner[0].Interfaces)}
	}
	return nil
}
