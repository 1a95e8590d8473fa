package weave

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Names that weaver gives to what it makes on a host.
const (
	bridge      = "weave"
	bridgeEnd   = "vethwe-bridge" // a port of the bridge, and its other end:
	pcapEnd     = "vethwe-pcap"
	datapathEnd = "vethwe-datapath"
	datapath    = "datapath"   // Open vSwitch's, which datapathEnd is a port of
	tunnel      = "vxlan-6784" // another port of it
)

// build is one under construction.
type build struct {
	*plumb.Network
	variant
	weaver
	dir string
}

// on is what the weavers are to build on a site.
func (v variant) on(site *plumb.Network, w weaver) *build {
	n := &build{Network: site, variant: v, weaver: w}
	site.OnWire, site.Hops, site.Check, site.Fragments = v.onWire, n.hops, n.check, probes(site.Hosts)
	site.Notes = append(site.Notes, "weaver is of the version "+w.version)
	return n
}

func (n *build) build(ctx context.Context) (err error) {
	if n.dir, err = daemon.State(&n.Stack); err != nil {
		return err
	}
	for _, h := range n.Site.Hosts {
		// Rules meet what crosses the bridge where the kernel can do that, as beside Docker.
		if err := h.BridgeNetfilter(true); err != nil && !errors.Is(err, platform.ErrUnsupported) {
			return err
		}
		if err := n.start(ctx, h); err != nil {
			return err
		}
		if err := n.attach(ctx, h); err != nil {
			return err
		}
	}
	return n.agree(ctx)
}

// attach gives containers what "weave attach" gives them, but for the times that ARP
// entries live there and, in newer versions, two rules about multicast.
func (n *build) attach(ctx context.Context, h *plumb.Host) error {
	b := plumb.Bridge{Name: bridge, Host: h, MTU: n.mtu(h.Uplink().MTU), Kept: 1}
	if err := b.Attach(ctx, n.Site, h.Nodes, plumb.Plug{Flat: true}); err != nil {
		return err
	}
	if n.fast {
		return nil
	}
	for _, c := range h.Nodes {
		if err := c.CompleteChecksums(); err != nil {
			return err
		}
	}
	return nil
}

// probes is how many fragments a weaver sends within five minutes: it tries whether these
// arrive at each other one by 60,001 bytes, when they connect and in that interval again.
func probes(hosts []*plumb.Host) uint64 {
	const size, headers, times = 60_001, 28, 2
	room := hosts[0].Uplink().MTU - headers
	return uint64(times * (len(hosts) - 1) * (size/room + 1))
}

const (
	// ownMTU is Weave's, for underlays of 1460 bytes (Google's) and more.
	ownMTU, ownUnderlay, ordinary = 1376, 1460, 1500
	// overhead is the most that Weave adds, in bytes, as its documentation has it (VXLAN 50,
	// ESP 34), and sealed what sleeve adds that encrypts: IPv4 and UDP 28, the weaver's name
	// 6, NaCl 24, and two Ethernet headers, to a multiple of four.
	overhead, sealed = 84, 88
)

// mtu is that of containers: Weave's own on an ordinary underlay, and on others what its
// documentation has the user set.
func (v variant) mtu(underlay int) int {
	switch {
	case underlay >= ownUnderlay && underlay <= ordinary:
		return ownMTU
	case v.encrypted:
		return underlay - sealed
	}
	return underlay - overhead
}

func (n *build) hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	hops := append([]network.Hop{from.Hop(), from.PortHop()}, n.own(from.Host)...)
	hops = append(hops, from.Host.UplinkHop(), to.Host.UplinkHop())
	return append(append(hops, n.own(to.Host)...), to.PortHop(), to.Hop())
}

// own are Weave's devices on a host.
func (n *build) own(h *plumb.Host) []network.Hop {
	end := plumb.DeviceHop(h.Name(), h.NS, bridgeEnd)
	if !n.fast {
		return []network.Hop{end, plumb.DeviceHop(h.Name(), h.NS, pcapEnd)}
	}
	return []network.Hop{end, maybe(plumb.DeviceHop(h.Name(), h.NS, datapathEnd)), maybe(plumb.DeviceHop(h.Name(), h.NS, tunnel))}
}

// maybe is a hop over a device that is not there when Weave has fallen back. Nothing has
// crossed it then.
func maybe(h network.Hop) network.Hop {
	read := h.Read
	h.Read = func(ctx context.Context) (network.Count, error) {
		c, err := read(ctx)
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			return network.Count{}, nil
		}
		return c, err
	}
	return h
}

// onWire: sleeve is on the port of the weavers' connections, the fast datapath on the next.
func (v variant) onWire(network.Family) string {
	if v.fast {
		return fmt.Sprintf("udp dst port %d", port+1)
	}
	return fmt.Sprintf("udp dst port %d", port)
}
