package kernel

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/record"
)

// tunnel describes a network of tunnels between hosts.
type tunnel struct {
	network.Info
	wire string // see network.Network.Wire
	link string // the kind of its devices; "" if it has none
	need plumb.Need
	// device makes the end of the tunnel to another host, and shared makes one device that leads to
	// all of them. Both are nil for IPsec, which has no device.
	device func(_ netlink.LinkAttrs, local, remote netip.Addr) netlink.Link
	shared func(_ *nl.NS, name string, s *plumb.Site, h *plumb.Host, mtu int) error
	// flat tunnels carry Ethernet frames, so that the containers of all hosts share a segment.
	flat bool
	// payload returns the size in bytes of the largest packet that the tunnel carries over an
	// underlay with the given MTU.
	payload func(mtu int) int
}

// The networks of tunnels.
var (
	// ipip has tunnels of IPv4 in IPv4.
	ipip = tunnel{
		Info: network.Info{
			Name: "ipip", Families: []int{4},
			About: "a bridge on each host, and IP-in-IP devices to the other hosts, as in Calico's IPIP mode; IPv4 only; MTU 20 below the underlay's",
		},
		wire: "ip proto 4", link: "ipip", need: plumb.IPIP, device: nl.IPIP,
		payload: plumb.Less(20), // the outer IP header
	}
	// gre has tunnels of IP in GRE (RFC 2784).
	gre = tunnel{
		Info: network.Info{
			Name:  "gre",
			About: "a bridge on each host, and GRE devices to the other hosts; MTU 24 below the underlay's",
		},
		wire: "ip proto 47", link: "gre", need: plumb.GRE, device: nl.GRE,
		payload: plumb.Less(20 + 4), // the outer IP header and that of GRE
	}
	// geneve has tunnels of frames in UDP (RFC 8926).
	geneve = tunnel{
		Info: network.Info{
			Name:  "geneve",
			About: "a bridge and Geneve devices to the other hosts on each host, one segment over all hosts; MTU 50 below the underlay's",
		},
		wire: "udp dst port 6081", link: "geneve", need: plumb.Geneve, device: nl.Geneve, flat: true,
		payload: plumb.Less(20 + 8 + 8 + 14), // outer IP, UDP, Geneve without options, inner Ethernet
	}
	// ipsec has tunnels of ESP in tunnel mode (RFC 4303).
	ipsec = tunnel{
		Info: network.Info{
			Name:  "ipsec",
			About: "a bridge on each host, and hosts that encrypt what their containers exchange: ESP in tunnel mode with AES-GCM, by the kernel, with keys set by hand; MTU 54 below the underlay's, or as much more as padding takes",
		},
		wire: "ip proto 50", need: plumb.ESP,
		payload: nl.ESPPayload,
	}
)

// GRE returns the driver of gre.
func GRE() network.Driver { return gre.driver() }

// IPsec returns the driver of ipsec.
func IPsec() network.Driver { return ipsec.driver() }

func (t tunnel) driver() network.Driver {
	t.Hosts, t.Endpoints, t.Overflow = []int{2}, plumb.MaxPorts, true
	if t.flat {
		t.Endpoints-- // one port of the bridge is the tunnel's
	}
	return plumb.Recipe{Info: t.Info, Needs: t.needs(), Build: t.build}.Driver()
}

func (t tunnel) build(ctx context.Context, n *plumb.Network) (err error) {
	n.OnWire = func(network.Family) string { return t.wire }
	if err := n.Fits(t.Name, t.Families, t.payload); err != nil {
		return err
	}
	if err := record.Try(n.Site.Hosts, func(h *plumb.Host) error { return t.host(ctx, n.Site, h) }); err != nil {
		return err
	}
	side := func(at *plumb.Node, peer *plumb.Host, _ network.Family) []network.Hop {
		return []network.Hop{at.Host.Hop(t.leading(peer), t.link)}
	}
	if t.device == nil && t.shared == nil {
		var m mesh
		m, err = encrypt(n.Site)
		n.Adds = leastESP
		side = m.side
	}
	n.Hops = plumb.Across(side)
	return err
}

// part builds the end of the tunnels on one machine.
func (t tunnel) part(ctx context.Context, s *plumb.Site, h *plumb.Host) (plumb.Built, error) {
	b := plumb.Built{Crossed: map[int][]string{}}
	if err := s.Fits(t.Name, t.Families, t.payload); err != nil {
		return b, err
	}
	for _, other := range s.Others(h) {
		b.Crossed[other.Index] = []string{t.leading(other)}
	}
	return b, t.host(ctx, s, h)
}

func (t tunnel) needs() []plumb.Need { return []plumb.Need{plumb.Veth, plumb.BridgeDevice, t.need} }

// toward returns the name of a host's end of the tunnel to another host.
func toward(peer *plumb.Host) string { return fmt.Sprintf("to-h%d", peer.Index+1) }

// leading returns the name of the device that leads to another host.
func (t tunnel) leading(peer *plumb.Host) string {
	if t.shared != nil {
		return "vxlan0"
	}
	return toward(peer)
}

// host makes the devices of one host: the containers' bridge, and the ends of the tunnels.
func (t tunnel) host(ctx context.Context, s *plumb.Site, h *plumb.Host) error {
	mtu, ends := t.payload(h.Uplink().MTU), s.Others(h)
	if t.shared != nil {
		ends = ends[:min(1, len(ends))]
	}
	plug := plumb.Attachment{Flat: t.flat, Gateway: !t.flat}
	if t.flat {
		plug.Kept = len(ends)
	}
	err := s.Bridge(ctx, h, bridge, mtu, plug)
	if err != nil || t.device == nil && t.shared == nil {
		return err
	}
	return nl.With(h.NS, func(n *nl.NS) error {
		return record.Try(ends, func(other *plumb.Host) error { return t.end(n, s, h, other, mtu) })
	})
}

// end makes the device for the tunnel to another host.
func (t tunnel) end(n *nl.NS, s *plumb.Site, h, other *plumb.Host, mtu int) error {
	name := t.leading(other)
	s.MadeDevice(h.NS, name)
	if t.shared != nil {
		return t.shared(n, name, s, h, mtu)
	}
	device := t.device(nl.Attrs(name, mtu), h.OnUnderlay(false), other.OnUnderlay(false))
	if numbered, ok := device.(*netlink.Geneve); ok {
		numbered.ID += uint32(s.Beside)
	}
	if err := h.AddOver(device, nil); err != nil {
		return err
	}
	return t.use(n, name, other)
}

// use leads packets for another host's containers into the tunnel's end, by the bridge or by
// routes, which disappear with the device.
func (t tunnel) use(n *nl.NS, name string, other *plumb.Host) error {
	if t.flat {
		if err := n.Master(name, bridge); err != nil {
			return err
		}
		if err := n.Isolate(name); err != nil {
			return err
		}
		return n.Up(name)
	}
	if err := n.Up(name); err != nil {
		return err
	}
	to := []netip.Prefix{plumb.Subnet(other.Index, false), plumb.Subnet(other.Index, true)}
	if slices.Equal(t.Families, []int{4}) {
		to = to[:1]
	}
	return n.Lead(name, to...)
}
