package docker

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/network"
	"nettoll/platform"
)

// Subnets of bridge networks that are made for a measurement: what the address plan of
// internal/plumb and the default bridges of private engines leave free.
var (
	userBridge4 = netip.MustParsePrefix("198.19.248.0/21")
	userBridge6 = netip.MustParsePrefix("2001:2:0:200::/64")
)

// bridged is the path between two ports of one bridge.
func bridged(from, to *node, _ network.Family) []network.Hop {
	return []network.Hop{from.hop(), from.portHop(), to.portHop(), to.hop()}
}

// defaultBridge is docker run without --network.
func defaultBridge(ctx context.Context, n *build) error { return n.onBridge(ctx, "bridge") }

// userBridge is docker network create.
func userBridge(ctx context.Context, n *build) error {
	spec := engine.NetworkSpec{Name: "bridge", Driver: "bridge", Subnet4: userBridge4, Subnet6: userBridge6}
	if mtu := n.topo.Underlay.MTU; mtu != 0 { // dockerd --mtu is for the default bridge
		spec.Options = map[string]string{"com.docker.network.driver.mtu": strconv.Itoa(mtu)}
	}
	forwards := forwards6(n.hosts[0])
	if !forwards {
		spec.Subnet6 = netip.Prefix{}
	}
	name, err := n.hosts[0].Network(ctx, spec)
	if err != nil && strings.Contains(err.Error(), "overlap") {
		// Another network of the user's has the addresses: any others will do.
		n.notes = append(n.notes, "the addresses are the engine's choice: those for benchmarking are taken there")
		spec.Subnet4, spec.Subnet6 = netip.Prefix{}, netip.Prefix{}
		name, err = n.hosts[0].Network(ctx, spec)
	}
	if err != nil {
		return err
	}
	n.reach = func(_, to *node, f network.Family) (netip.Addr, error) {
		if f == network.IPv6 && !forwards {
			return netip.Addr{}, errForwards6()
		}
		return to.own(f)
	}
	return n.onBridge(ctx, name)
}

// forwards6 says whether a network with IPv6 can be made on a host without changing it
// for good: an engine lets its machine forward IPv6 from then on, which then no longer
// heeds the routers that advertise themselves to it.
func forwards6(h *engine.Host) bool {
	if !h.Borrowed() {
		return true
	}
	on, err := netns.Sysctl(h.NetNS(), "net/ipv6/conf/all/forwarding")
	return h.Here() && err == nil && on != "0"
}

// errForwards6 is that of user bridges where that would be so.
func errForwards6() error {
	return &platform.Unsupported{
		Feature: "IPv6 on a network of one's own", Option: "an engine on this machine, which forwards IPv6 already",
		Remedy: "sysctl -w net.ipv6.conf.all.forwarding=1 as root, or --private-engine",
		Err:    errors.New("the engine would make the machine forward it"),
	}
}

// onBridge puts all containers on a bridge network.
func (n *build) onBridge(ctx context.Context, name string) error {
	b, err := n.hosts[0].InspectBridge(ctx, name)
	if err != nil {
		return err
	}
	mode := func(*engine.Host, int) engine.Spec { return engine.Spec{Mode: name} }
	if err := n.run(ctx, mode, mode); err != nil {
		return err
	}
	n.hops = bridged
	return n.wire(ctx, b.Device, append(append([]*node{}, n.servers...), n.clients...)...)
}
