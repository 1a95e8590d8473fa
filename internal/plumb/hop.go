package plumb

import (
	"context"
	"net/netip"
	"strings"

	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/network"
)

// DeviceHop counts what a device received and sent, together.
func DeviceHop(where, ns, device string) network.Hop {
	return network.Hop{
		Name: where + "/" + device, Kind: network.Device,
		Read: func(context.Context) (c network.Count, err error) {
			err = nl.With(ns, func(n *nl.NS) error {
				d, err := n.Interface(device)
				c = Counted(d)
				return err
			})
			return c, err
		},
	}
}

// Counted is what a device says of itself as a hop.
func Counted(d nl.Interface) network.Count {
	return network.Count{
		Packets: d.Packets, Bytes: d.Bytes,
		At: network.Joint{Kind: d.Kind, Index: d.Index, Peer: d.Peer, Home: int(d.Home), Master: d.Master},
	}
}

// Hop is the node's own device.
func (n *Node) Hop() network.Hop { return DeviceHop(n.Name(), n.NS, n.Device) }

// PortHop is the host's end of the node's veth pair.
func (n *Node) PortHop() network.Hop { return DeviceHop(n.Host.Name(), n.Host.NS, n.Port) }

// LoopbackHop is the node's lo.
func (n *Node) LoopbackHop() network.Hop { return DeviceHop(n.Name(), n.NS, "lo") }

// OverLoopback is the Reach of networks whose nodes share a namespace.
func OverLoopback(_, _ *Node, f network.Family) netip.Addr {
	if f == network.IPv6 {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// LoopbackHops is their path.
func LoopbackHops(from, _ *Node, _ network.Family) []network.Hop {
	return []network.Hop{from.LoopbackHop()}
}

// UplinkHop is the host's device on the underlay.
func (h *Host) UplinkHop() network.Hop { return DeviceHop(h.Name(), h.NS, h.Uplink().Device) }

// RuleHop is a firewall rule. Kind is network.Rule for one that sees all
// packets, network.Connection for one of a NAT chain.
func RuleHop(h *Host, name string, kind network.HopKind, rules ...nft.Rule) network.Hop {
	return network.Hop{
		Name: h.Name() + "/" + strings.ReplaceAll(name, " ", "-"), Kind: kind,
		Read: func(context.Context) (network.Count, error) {
			var sum network.Count
			for _, r := range rules {
				packets, bytes, err := r.Count()
				if err != nil {
					return sum, err
				}
				sum.Packets += packets
				sum.Bytes += bytes
			}
			return sum, nil
		},
	}
}

// Absent says that the payload must not cross the hop.
func Absent(h network.Hop) network.Hop {
	h.Absent = true
	return h
}
