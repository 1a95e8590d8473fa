package docker

import (
	"context"
	"encoding/binary"
	"net/netip"
	"strings"

	"nettoll/docker/engine"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// The segment that macvlan and ipvlan networks of all hosts share: for IPv4 the first
// half of the address plan's, which overlaps no bridge of an engine's.
var (
	segment4 = netip.MustParsePrefix("198.19.0.0/17")
	segment6 = netip.MustParsePrefix("2001:2:0:300::/64") // engines number within the last 64 bits only
)

// childAddr6 is the IPv6 address of container k of host i.
func childAddr6(i, k int) netip.Addr {
	a := segment6.Addr().As16()
	a[13] = byte(i + 1)
	binary.BigEndian.PutUint16(a[14:], uint16(k+2))
	return netip.AddrFrom16(a)
}

// segment is a network of children of the host's uplink. The engine's own machine has no
// uplink that may be used: there the engine makes a parent that leads nowhere.
func segment(driver, mode string) func(context.Context, *build) error {
	return func(ctx context.Context, n *build) error {
		if err := n.apart(); err != nil {
			return err
		}
		spec := engine.NetworkSpec{Name: driver, Driver: driver, Subnet4: segment4, Subnet6: segment6, Options: map[string]string{}}
		if mode != "" {
			spec.Options["ipvlan_mode"] = mode
		}
		names := map[*engine.Host]string{}
		for _, h := range n.hosts {
			if device := h.Uplink().Device; device != "" {
				spec.Options["parent"] = device
			} else {
				n.notes = append(n.notes, "the parent is a device that the engine makes: no traffic goes through those of the machine")
			}
			name, err := h.Network(ctx, spec)
			if err != nil {
				return parentless(h, err)
			}
			names[h] = name
		}
		taken := map[*engine.Host]int{}
		child := func(h *engine.Host, _ int) engine.Spec {
			k := taken[h]
			taken[h]++
			return engine.Spec{
				Mode:  names[h],
				Addr4: plumb.ContainerAddr(h.Index, k, false), Addr6: childAddr6(h.Index, k),
			}
		}
		if err := n.run(ctx, child, child); err != nil {
			return parentless(n.hosts[0], err)
		}
		n.hops = children
		return n.named(ctx, driver)
	}
}

// parentless says what an engine needs that makes a parent itself.
func parentless(h *engine.Host, err error) error {
	if !h.Borrowed() || !strings.Contains(err.Error(), "operation not supported") {
		return err
	}
	return &platform.Unsupported{
		Feature: "a parent device on the engine's machine", Option: "CONFIG_DUMMY", Err: err,
		Remedy: "modprobe dummy as root, or --private-engine",
	}
}

// named finds the device of each container.
func (n *build) named(ctx context.Context, kind string) error {
	for _, node := range append(append([]*node{}, n.servers...), n.clients...) {
		all, err := node.container.Interfaces(ctx)
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.Kind == kind {
				node.device = d.Name
			}
		}
	}
	return nil
}

// children: siblings on one host talk past the uplink, others over it.
func children(from, to *node, _ network.Family) []network.Hop {
	switch device := from.host.Uplink().Device; {
	case from.host != to.host:
		return []network.Hop{from.hop(), hostHop(from.host, device), hostHop(to.host, to.host.Uplink().Device), to.hop()}
	case device != "":
		return []network.Hop{from.hop(), absent(hostHop(from.host, device)), to.hop()}
	}
	return []network.Hop{from.hop(), to.hop()}
}
