package docker

import (
	"context"
	"encoding/binary"
	"net/netip"
	"strings"

	"nettoll/docker/engine"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

// The segment that macvlan and ipvlan networks of all hosts share: for IPv4 the first half of the
// address plan's segment, which overlaps no bridge of an engine.
var (
	segment4 = netip.MustParsePrefix("198.19.0.0/17")
	segment6 = netip.MustParsePrefix("2001:2:0:300::/64") // engines assign addresses within the last 64 bits only

	// Subnets of a second such network that stands on the same engine of the user's at the same time. Its containers
	// have the addresses of a host (index 8) that the first network does not have.
	segmentBeside4 = netip.MustParsePrefix("198.19.128.0/18")
	segmentBeside6 = netip.MustParsePrefix("2001:2:0:301::/64")
	hostBeside     = 8
)

// childAddr6 returns the IPv6 address of container k of host i on a segment.
func childAddr6(on netip.Prefix, i, k int) netip.Addr {
	a := on.Addr().As16()
	a[13] = byte(i + 1)
	binary.BigEndian.PutUint16(a[14:], uint16(k+2))
	return netip.AddrFrom16(a)
}

// segment is a network of children of the host's uplink. The user's own machine has no uplink that
// may be used: there the engine makes a parent that leads nowhere.
func segment(driver, mode string) func(context.Context, *build) error {
	return func(ctx context.Context, n *build) error {
		if err := n.onlyInLab("containers on the network cards' own segment"); err != nil {
			return err
		}
		spec := engine.NetworkSpec{Name: driver, Driver: driver, Subnet4: segment4, Subnet6: segment6, Options: map[string]string{}}
		first := 0
		if n.engines[0].Place() > 0 {
			spec.Subnet4, spec.Subnet6, first = segmentBeside4, segmentBeside6, hostBeside
		}
		if mode != "" {
			spec.Options["ipvlan_mode"] = mode
		}
		names := map[*engine.Host]string{}
		for _, h := range n.engines {
			if device := h.Uplink().Device; device != "" {
				spec.Options["parent"] = device
			} else {
				n.Notes = append(n.Notes, "the parent is a device that the engine makes: no traffic goes through the devices of the machine")
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
				Addr4: plumb.ContainerAddr(first+h.Index, k, false), Addr6: childAddr6(spec.Subnet6, h.Index, k),
			}
		}
		if err := n.run(ctx, child, child); err != nil {
			return parentless(n.engines[0], err)
		}
		n.Hops = plumb.ChildHops
		return n.named(ctx, driver)
	}
}

// parentless returns the requirement of an engine that has to make a parent itself and cannot.
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
	for _, node := range n.talking() {
		all, err := node.Devices.List(ctx)
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.Kind == kind {
				node.Device, node.Link = d.Name, kind
			}
		}
	}
	return nil
}
