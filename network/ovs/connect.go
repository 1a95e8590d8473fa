package ovs

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// fits returns an error for underlays whose MTU is too small for containers, or too large for the bridge that has them as a port.
func (v variant) fits(s *plumb.Site) error {
	for _, h := range s.Hosts {
		if mtu := h.Uplink().MTU; v.tunnel != nil && v.Carried && mtu > maxPhysical {
			return &platform.Unsupported{
				Feature: fmt.Sprintf("%s on an underlay with the MTU %d", v.Name, mtu),
				Option:  fmt.Sprintf("%d or less, the most that a tap device has", maxPhysical),
				Remedy:  fmt.Sprintf("--mtu %d", maxPhysical),
			}
		}
	}
	return s.Fits(v.Name, nil, plumb.Less(v.overhead()))
}

// build connects the containers. It returns the build, for tests.
func (v variant) build(ctx context.Context, n *plumb.Network) (*build, error) {
	if err := v.fits(n.Site); err != nil {
		return nil, err
	}
	b := &build{tech: v, Network: n}
	for _, h := range n.Hosts {
		b.vswitches = append(b.vswitches, &vswitch{host: h, programs: n.Programs})
	}
	n.Hops, n.Check = b.hops, b.check
	if v.tunnel != nil {
		n.Adds = network.Overheads[v.tunnel.kind]
		n.OnWire = func(network.Family) string { return fmt.Sprintf("udp dst port %d", v.tunnel.port) }
	}
	dir, err := daemon.State(&b.Stack)
	if err != nil {
		return b, err
	}
	return b, b.everything(ctx, dir)
}

// build is a network under construction.
type build struct {
	tech variant
	*plumb.Network
	vswitches []*vswitch // by index of the host; in a part of a network between machines, only its own
}

// everything starts Open vSwitch on the hosts of the vswitches, and connects their containers. Files are below dir.
func (b *build) everything(ctx context.Context, dir string) error {
	for _, v := range b.vswitches {
		if b.overUplink() {
			b.releaseUplink(v.host)
		}
		if err := v.start(ctx, b.Site, dir, b.tech); err != nil {
			return err
		}
		b.Watch(false, v.db)
		b.Watch(b.tech.datapath == userspace, v.daemon)
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

// overUplink reports whether the uplink is a port of Open vSwitch.
func (b *build) overUplink() bool { return b.tech.tunnel != nil && b.tech.datapath == userspace }

// host makes the bridges of a host and all their ports, in one transaction.
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
		uplink, err := uplinkCommands(v.host)
		if err != nil {
			return err
		}
		all = append(all, uplink...)
	}
	if err := v.vsctl(ctx, all...); err != nil {
		return err
	}
	ports := slices.Concat(record.Each(v.host.Nodes, number), record.Each(b.Others(v.host), b.tech.tunnel.number))
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

// mtu returns the MTU of a host's containers.
func (b *build) mtu(h *plumb.Host) int {
	mtu := h.Uplink().MTU - b.tech.overhead()
	if most := b.tech.MTU; most > 0 {
		mtu = min(mtu, most)
	}
	return mtu
}

// hops returns the containers' devices and their ports, tunnels and uplinks, and on each host the
// packets that Open vSwitch counted.
func (b *build) hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	a, z := b.vswitches[from.Host.Index], b.vswitches[to.Host.Index]
	all := append([]network.Hop{from.Hop()}, b.port(from)...)
	if a == z {
		all = append(all, a.hop(from.Port+"-"+to.Port, number(from), number(to)))
	} else {
		all = append(all, a.hop(from.Port+"-"+b.tech.tunnel.name(to.Host), number(from), b.tech.tunnel.number(to.Host)))
		all = append(all, b.across(from.Host, to.Host)...)
		all = append(all, z.hop(b.tech.tunnel.name(from.Host)+"-"+to.Port, b.tech.tunnel.number(from.Host), number(to)))
	}
	return append(append(all, b.port(to)...), to.Hop())
}

// port returns the host's end of a veth pair, if there is one.
func (b *build) port(n *plumb.Node) []network.Hop {
	if b.tech.ports == internal {
		return nil
	}
	return []network.Hop{n.PortHop()}
}

// across returns the path between hosts. The kernel has one device for all tunnels of a kind.
func (b *build) across(from, to *plumb.Host) []network.Hop {
	if b.tech.datapath == userspace {
		return []network.Hop{from.UplinkHop(), to.UplinkHop()}
	}
	return []network.Hop{
		from.Hop(b.tech.tunnel.device, b.tech.tunnel.kind), from.UplinkHop(),
		to.UplinkHop(), to.Hop(b.tech.tunnel.device, b.tech.tunnel.kind),
	}
}

// tunnel is a kind of tunnel.
type tunnel struct {
	kind     string // Open vSwitch's name
	port     int    // UDP
	overhead int    // bytes
	device   string // the kernel's device for all tunnels of the kind
	need     plumb.Need
}

var (
	// Outer IPv4 20, UDP 8, VXLAN 8, inner Ethernet 14.
	vxlan = &tunnel{"vxlan", 4789, 50, "vxlan_sys_4789", plumb.VXLAN}
	// The same with 8 bytes for Geneve, and an option of 8 bytes, for which OVN leaves room.
	geneve = &tunnel{"geneve", 6081, 58, "genev_sys_6081", plumb.Geneve}
)

const vni = 42

// overhead returns the overhead of the tunnel in bytes, if there is one.
func (t variant) overhead() int {
	if t.tunnel == nil {
		return 0
	}
	return t.tunnel.overhead
}

// name returns the name of the port that leads to a host.
func (t *tunnel) name(to *plumb.Host) string { return t.kind + "-" + to.Name() }

// number returns its OpenFlow port number, above those of containers.
func (t *tunnel) number(to *plumb.Host) int { return 60001 + to.Index }

// mesh returns the ovs-vsctl commands that connect a host to all others. The ports are protected:
// frames from one host must not go to another, or they would run in circles.
func (b *build) mesh(v *vswitch) (commands []string) {
	if b.tech.tunnel == nil {
		return nil
	}
	for _, to := range b.Others(v.host) {
		name := b.tech.tunnel.name(to)
		commands = append(commands,
			"--", "add-port", bridge, name, "--", "set", "Port", name, "protected=true",
			"--", "set", "Interface", name, "type="+b.tech.tunnel.kind, "ofport_request="+strconv.Itoa(b.tech.tunnel.number(to)),
			fmt.Sprintf("options:key=%d", vni),
			"options:remote_ip="+to.OnUnderlay(false).String(), "options:local_ip="+v.host.OnUnderlay(false).String())
	}
	return commands
}
