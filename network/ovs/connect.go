package ovs

import (
	"context"
	"fmt"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// build connects the containers. It gives what tests look into.
func (v variant) build(ctx context.Context, n *plumb.Network) (*build, error) {
	programs, err := find(v.paths)
	if err != nil {
		return nil, err
	}
	if err := n.Fits(v.Name, nil, plumb.Less(v.overhead())); err != nil {
		return nil, err
	}
	b := &build{tech: v, Site: n.Site, site: n}
	for _, h := range n.Hosts {
		b.vswitches = append(b.vswitches, &vswitch{host: h, programs: programs})
	}
	if err := b.everything(ctx); err != nil {
		return nil, err
	}
	n.Hops, n.Check = b.hops, b.check
	n.Needed = b.daemons()
	if v.datapath == userspace {
		for _, s := range b.vswitches {
			n.Carry(s.daemon)
		}
	}
	if v.tunnel != nil {
		n.OnWire = func(network.Family) string { return fmt.Sprintf("udp dst port %d", v.tunnel.port) }
	}
	return b, nil
}

// daemons are those of all hosts.
func (b *build) daemons() (all []*daemon.Daemon) {
	for _, v := range b.vswitches {
		all = append(all, v.db, v.daemon)
	}
	return all
}

// build is a network under construction.
type build struct {
	tech variant
	*plumb.Site
	site      *plumb.Network
	vswitches []*vswitch // by the host
}

func (b *build) everything(ctx context.Context) error {
	dir, err := daemon.State(&b.Stack)
	if err != nil {
		return err
	}
	for _, v := range b.vswitches {
		if b.overUplink() {
			b.releaseUplink(v.host)
		}
		if err := v.start(ctx, b.Site, dir, b.tech); err != nil {
			return err
		}
		if err := b.host(ctx, v); err != nil {
			return err
		}
	}
	if b.overUplink() {
		if err := b.meet(ctx); err != nil {
			return err
		}
	}
	if err := b.modes(ctx); err != nil {
		return err
	}
	return b.check(ctx)
}

// overUplink says whether the uplink is a port of Open vSwitch.
func (b *build) overUplink() bool { return b.tech.tunnel != nil && b.tech.datapath == userspace }

// host makes the bridges of a host and all ports of them, in one transaction.
func (b *build) host(ctx context.Context, v *vswitch) error {
	for _, n := range v.host.Nodes {
		n.Device, n.Port = device, b.tech.ports.name(n)
	}
	mtu := b.mtu(v.host)
	if mtu == b.tech.MTU {
		b.Notes = append(b.Notes, fmt.Sprintf("containers of %s have the MTU %d, the largest that AF_XDP ports carry", v.host.Name(), mtu))
	}
	commands, err := b.attach(ctx, v, mtu)
	if err != nil {
		return err
	}
	all := []string{"--", "add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=" + b.tech.datapath}
	all = append(append(all, commands...), b.mesh(v)...)
	if b.overUplink() {
		all = append(all, uplinkCommands(v.host)...)
	}
	if err := v.vsctl(ctx, all...); err != nil {
		return err
	}
	var ports []int
	for _, n := range v.host.Nodes {
		ports = append(ports, number(n))
	}
	for _, h := range b.Hosts {
		if h != v.host {
			ports = append(ports, b.tech.tunnel.number(h))
		}
	}
	if err := v.count(ctx, ports); err != nil {
		return err
	}
	switch {
	case b.overUplink():
		return b.takeUplink(v.host)
	case b.tech.ports == internal:
		return b.give(ctx, v.host)
	}
	return nil
}

// mtu is that of the containers of a host.
func (b *build) mtu(h *plumb.Host) int {
	mtu := h.Uplink().MTU - b.tech.overhead()
	if most := b.tech.MTU; most > 0 {
		mtu = min(mtu, most)
	}
	return mtu
}
