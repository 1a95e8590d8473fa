package docker

import (
	"context"
	"net/netip"
	"strings"

	"nettoll/docker/engine"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// several reports whether the hosts are several machines of the user's.
func (n *build) several() bool { return len(n.engines) > 1 && n.engines[0].Borrowed() }

// onlyInLab refuses several machines of the user's for a network that would change more than their containers, or that
// others would see.
func (n *build) onlyInLab(feature string) error {
	if !n.several() {
		return nil
	}
	return &platform.Unsupported{
		Feature: feature + " between machines of your own", Option: "hosts of the lab",
		Remedy: "--private-engine starts engines there",
	}
}

// onMachines has the payload cross the hosts' own devices. On machines of the user's, others use these, too.
func (n *build) onMachines(ctx context.Context) error {
	n.Hops = plumb.HostHops
	if n.engines[0].Borrowed() {
		n.Hops = plumb.Common(plumb.HostHops)
	}
	if n.several() {
		if n.apart != nil {
			return n.apart
		}
		n.Refuse = plumb.Unaddressed
	}
	return n.watched(ctx)
}

// watched has agents on other machines read the counters of the machines' devices by themselves.
func (n *build) watched(ctx context.Context) error {
	for i, h := range n.engines {
		if h.Here() {
			continue
		}
		a, err := h.Agent(ctx)
		if err != nil {
			return err
		}
		n.Hosts[i].Devices.Agent = a
	}
	return nil
}

// native runs processes of the hosts, without any container. On another machine, which only its engine can start something
// on, they are in a container that has the machine's network.
func native(ctx context.Context, n *build) error {
	if err := n.onMachines(ctx); err != nil {
		return err
	}
	away := record.Found(n.engines, func(h *engine.Host) (string, bool) { return h.Name(), !h.Here() })
	if away != nil {
		n.Notes = append(n.Notes, "processes outside containers are in a container with the machine's network (docker run --network host) where only the engine can start them: "+strings.Join(away, ", "))
	}
	n.OnHosts()
	return nil
}

// hostMode is the network of docker run --network host.
func hostMode(ctx context.Context, n *build) error {
	if err := n.onMachines(ctx); err != nil {
		return err
	}
	n.Reach = func(_, to *plumb.Node, f network.Family) netip.Addr { return n.OnHost(to.Host).Addr(f) }
	return n.run(ctx, plain("host"), plain("host"))
}

// sharedMode is the network of docker run --network container:NAME. The first container owns the
// namespace.
func sharedMode(ctx context.Context, n *build) error {
	made, err := n.engines[0].Run(ctx, engine.Spec{Mode: "bridge"})
	if err != nil {
		return err
	}
	owner := n.nodeOf(n.Hosts[0], made[0])
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
