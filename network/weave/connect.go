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

// Names that weaver gives to the devices that it makes on a host.
const (
	bridge      = "weave"
	bridgeEnd   = "vethwe-bridge" // a port of the bridge, and its other end:
	pcapEnd     = "vethwe-pcap"
	datapathEnd = "vethwe-datapath"
	datapath    = "datapath"   // of Open vSwitch; datapathEnd is one of its ports
	tunnel      = "vxlan-6784" // another port of it
)

// build is a network under construction.
type build struct {
	*plumb.Network
	variant
	weaver
	dir string
}

// on prepares a network of weavers on a site.
func (v variant) on(site *plumb.Network, w weaver) *build {
	n := &build{Network: site, variant: v, weaver: w}
	site.OnWire, site.Hops, site.Check, site.Fragments = v.onWire, n.hops, n.check, probes(site.Hosts)
	site.Notes = append(site.Notes, "weaver is version "+w.version)
	return n
}

func (n *build) build(ctx context.Context) (err error) {
	if n.dir, err = daemon.State(&n.Stack); err != nil {
		return err
	}
	for _, h := range n.Site.Hosts {
		// Rules apply to packets that cross the bridge where the kernel supports it, as on hosts
		// with Docker.
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

// attach gives containers what "weave attach" gives them, except for the lifetimes of ARP entries
// and, in newer versions, two rules about multicast.
func (n *build) attach(ctx context.Context, h *plumb.Host) error {
	b := plumb.Bridge{Name: bridge, Host: h, MTU: n.mtu(h.Uplink().MTU)}
	err := b.Attach(ctx, n.Site, h.Nodes, plumb.Attachment{Flat: true, Kept: 1})
	if err != nil || n.fast {
		return err
	}
	return h.CompleteChecksums()
}

// probes is how many fragments a weaver sends within five minutes: to test whether fragments arrive
// at each other weaver, it sends 60,001 bytes when they connect and once more in that interval.
func probes(hosts []*plumb.Host) uint64 {
	const size, headers, times = 60_001, 28, 2
	room := hosts[0].Uplink().MTU - headers
	return uint64(times * (len(hosts) - 1) * (size/room + 1))
}

const (
	// ownMTU is Weave's default, for underlays from 1460 bytes (Google's) to the ordinary 1500.
	ownMTU, ownUnderlay, ordinary = 1376, 1460, 1500
	// overhead is the most that Weave adds, in bytes, according to its documentation (VXLAN 50, ESP
	// 34), and sealed is what sleeve adds with encryption: IPv4 and UDP 28, the weaver's name 6,
	// NaCl 24, and two Ethernet headers, rounded up to a multiple of four.
	overhead, sealed = 84, 88
)

// mtu returns the MTU of containers: Weave's default on an ordinary underlay, and on others the one
// that its documentation tells the user to set.
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
	for _, h := range []*plumb.Host{from.Host, to.Host} {
		up := h.UplinkHop()
		up.Packs = !n.fast // sleeve sends several frames in a datagram
		hops = append(hops, up)
	}
	return append(append(hops, n.own(to.Host)...), to.PortHop(), to.Hop())
}

// own returns the hops over Weave's devices on a host.
func (n *build) own(h *plumb.Host) []network.Hop {
	if n.fast {
		return []network.Hop{h.Hop(bridgeEnd, plumb.Pair), maybe(h.Hop(datapathEnd, plumb.Pair)), maybe(h.Hop(tunnel, "vxlan"))}
	}
	return []network.Hop{h.Hop(bridgeEnd, plumb.Pair), h.Hop(pcapEnd, plumb.Pair)}
}

// maybe is a hop over a device that does not exist when Weave has fallen back. Then nothing has
// crossed it.
func maybe(h network.Hop) network.Hop {
	read := h.Read
	h.Read = func(ctx context.Context) (network.Count, error) {
		c, err := read(ctx)
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			return network.Count{}, nil
		}
		return c, err
	}
	h.Keep = nil // what it returns fails without the device
	return h
}

// onWire matches the payload by its port: sleeve uses that of the weavers' connections, the fast datapath
// uses the next one.
func (v variant) onWire(network.Family) string {
	if v.fast {
		return fmt.Sprintf("udp dst port %d", port+1)
	}
	return fmt.Sprintf("udp dst port %d", port)
}
