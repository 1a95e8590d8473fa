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
)

// tunnel is a network of tunnels between hosts.
type tunnel struct {
	network.Info
	wire string // see network.Network
	need plumb.Need
	// device makes the end of a tunnel; nil: IPsec has no device.
	device func(_ netlink.LinkAttrs, local, remote netip.Addr) netlink.Link
	// flat tunnels carry frames, so that the containers of all hosts share a segment.
	flat bool
	// payload is the largest packet that the tunnel carries over an underlay with an MTU,
	// in bytes.
	payload func(mtu int) int
}

// IPIP is IPv4 in IPv4.
func IPIP() network.Driver {
	return tunnel{
		Info: network.Info{
			Name: "ipip", Families: []int{4},
			About: "a bridge on each host, and IP-in-IP devices to the other hosts, as in Calico's IPIP mode; IPv4 only; MTU 20 below the underlay's",
		},
		wire: "ip proto 4", need: plumb.IPIP, device: nl.IPIP,
		payload: plumb.Less(20), // the outer IP header
	}.driver()
}

// GRE is IP in GRE (RFC 2784).
func GRE() network.Driver {
	return tunnel{
		Info: network.Info{
			Name:  "gre",
			About: "a bridge on each host, and GRE devices to the other hosts; MTU 24 below the underlay's",
		},
		wire: "ip proto 47", need: plumb.GRE, device: nl.GRE,
		payload: plumb.Less(20 + 4), // the outer IP header, and GRE's
	}.driver()
}

// Geneve is frames in UDP (RFC 8926).
func Geneve() network.Driver {
	return tunnel{
		Info: network.Info{
			Name:  "geneve",
			About: "a bridge and Geneve devices to the other hosts on each host, one segment over all hosts; MTU 50 below the underlay's",
		},
		wire: "udp dst port 6081", need: plumb.Geneve, device: nl.Geneve, flat: true,
		payload: plumb.Less(20 + 8 + 8 + 14), // outer IP, UDP, Geneve without options, inner Ethernet
	}.driver()
}

// IPsec is ESP in tunnel mode (RFC 4303).
func IPsec() network.Driver {
	return tunnel{
		Info: network.Info{
			Name:  "ipsec",
			About: "a bridge on each host, and hosts that encrypt what their containers exchange: ESP in tunnel mode with AES-GCM, by the kernel, with keys set by hand; MTU 54 below the underlay's, or as much more as padding takes",
		},
		wire: "ip proto 50", need: plumb.ESP,
		payload: nl.ESPPayload,
	}.driver()
}

func (t tunnel) driver() network.Driver {
	t.Hosts, t.Endpoints, t.Overflow = []int{2}, plumb.MaxPorts, true
	if t.flat {
		t.Endpoints-- // one port of the bridge is the tunnel's
	}
	return plumb.Recipe{Info: t.Info, Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice, t.need}, Build: t.build}.Driver()
}

func (t tunnel) build(ctx context.Context, n *plumb.Network) error {
	n.OnWire = func(network.Family) string { return t.wire }
	if err := n.Fits(t.Name, t.Families, t.payload); err != nil {
		return err
	}
	for _, h := range n.Site.Hosts {
		if err := t.host(ctx, n.Site, h); err != nil {
			return err
		}
	}
	if t.device == nil {
		m, err := encrypt(n.Site)
		n.Hops = m.hops
		return err
	}
	n.Hops = deviceHops(toward)
	return nil
}

// host makes what is on one host: the containers' bridge, and the ends of the tunnels.
func (t tunnel) host(ctx context.Context, s *plumb.Site, h *plumb.Host) error {
	mtu := t.payload(h.Uplink().MTU)
	br, err := s.AddBridge(h, bridge, mtu, !t.flat)
	if err != nil {
		return err
	}
	if t.flat {
		br.Kept = len(s.Hosts) - 1 // for the tunnels
	}
	if err := br.Attach(ctx, s, h.Nodes, plumb.Plug{Flat: t.flat, Gateway: !t.flat}); err != nil {
		return err
	}
	if t.flat {
		err = h.BridgeNetfilter(false)
	} else {
		err = h.Forwarding()
	}
	if err != nil || t.device == nil {
		return err
	}
	return t.ends(s, h, mtu)
}

// toward names a host's end of the tunnel to another host.
func toward(h *plumb.Host) string { return fmt.Sprintf("to-h%d", h.Index+1) }

// ends makes a device for the tunnel to each other host.
func (t tunnel) ends(s *plumb.Site, h *plumb.Host, mtu int) error {
	return nl.With(h.NS, func(n *nl.NS) error {
		for _, other := range s.Hosts {
			if other == h {
				continue
			}
			name := toward(other)
			s.MadeDevice(h.NS, name)
			attrs := netlink.NewLinkAttrs()
			attrs.Name, attrs.MTU = name, mtu
			if err := n.Add(t.device(attrs, h.Uplink().Addr4.Addr(), other.Uplink().Addr4.Addr())); err != nil {
				return err
			}
			if err := t.use(n, name, other); err != nil {
				return err
			}
		}
		return nil
	})
}

// use leads what is for another host's containers into the tunnel's end, by the bridge or
// by routes, which go with the device.
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
	if err := n.Route(plumb.Subnet(other.Index, false), netip.Addr{}, name); err != nil {
		return err
	}
	if len(t.Families) > 0 && !slices.Contains(t.Families, int(network.IPv6)) {
		return nil
	}
	return n.Route(plumb.Subnet(other.Index, true), netip.Addr{}, name)
}

// deviceHops is the path over devices on both hosts that lead to each other, which toward names.
func deviceHops(toward func(*plumb.Host) string) func(from, to *plumb.Node, _ network.Family) []network.Hop {
	return func(from, to *plumb.Node, _ network.Family) []network.Hop {
		return []network.Hop{
			from.Hop(), from.PortHop(), plumb.DeviceHop(from.Host.Name(), from.Host.NS, toward(to.Host)), from.Host.UplinkHop(),
			to.Host.UplinkHop(), plumb.DeviceHop(to.Host.Name(), to.Host.NS, toward(from.Host)), to.PortHop(), to.Hop(),
		}
	}
}
