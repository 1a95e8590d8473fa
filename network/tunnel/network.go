// Package tunnel measures containers behind hosts that the kernel's plain tunnels join, set
// up by hand: IP in IP, GRE, Geneve, and IPsec.
package tunnel

import (
	"context"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is one kind of tunnel.
type Technique struct {
	name, about string
	wire        string // see network.Wired
	need        plumb.Need
	families    []int // none is both
	// device makes the end of a tunnel; nil: IPsec has no device.
	device func(_ netlink.LinkAttrs, local, remote netip.Addr) netlink.Link
	// flat tunnels carry frames, so that the containers of all hosts share a segment.
	flat bool
	// payload is the largest packet that the tunnel carries over an underlay with an MTU,
	// in bytes.
	payload func(mtu int) int
}

// NewIPIP gives IP in IP, which has room for IPv4 alone: ip6tnl would be another device,
// and another network.
func NewIPIP() Technique {
	return Technique{
		name: "ipip", wire: "ip proto 4", need: plumb.IPIP, families: []int{4}, device: nl.IPIP,
		about:   "a bridge on each host, and IP-in-IP devices to the other hosts, as in Calico's IPIP mode; IPv4 only; MTU 20 below the underlay's",
		payload: plumb.Less(20), // the outer IP header
	}
}

// NewGRE gives GRE.
func NewGRE() Technique {
	return Technique{
		name: "gre", wire: "ip proto 47", need: plumb.GRE, device: nl.GRE,
		about:   "a bridge on each host, and GRE devices to the other hosts; MTU 24 below the underlay's",
		payload: plumb.Less(20 + 4), // the outer IP header, and GRE's
	}
}

// NewGeneve gives Geneve.
func NewGeneve() Technique {
	return Technique{
		name: "geneve", wire: "udp dst port 6081", need: plumb.Geneve, device: nl.Geneve, flat: true,
		about:   "a bridge and Geneve devices to the other hosts on each host, one segment over all hosts; MTU 50 below the underlay's",
		payload: plumb.Less(20 + 8 + 8 + 14), // outer IP, UDP, Geneve without options, inner Ethernet
	}
}

// NewIPsec gives IPsec.
func NewIPsec() Technique {
	return Technique{
		name: "ipsec", wire: "ip proto 50", need: plumb.ESP,
		about:   "a bridge on each host, and hosts that encrypt what their containers exchange: ESP in tunnel mode with AES-GCM, by the kernel, with keys set by hand; MTU 54 below the underlay's, or as much more as padding takes",
		payload: nl.ESPPayload,
	}
}

// Name implements network.Technique.
func (t Technique) Name() string { return t.name }

// About implements network.Technique.
func (t Technique) About() string { return t.about }

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{2} }

// Families are the IP versions that it carries; none is both.
func (t Technique) Families() []int { return t.families }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one of two hosts can hold.
func (t Technique) MaxEndpoints() int {
	if t.flat {
		return plumb.MaxPorts - 1 // one port of the bridge is the tunnel's
	}
	return plumb.MaxPorts
}

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice, t.need)
}
