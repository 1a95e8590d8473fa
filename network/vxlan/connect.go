package vxlan

import (
	"context"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

const (
	bridge = "br0"
	device = "vxlan0"
	vni    = 42
	port   = 4789 // IANA's for VXLAN, RFC 7348
	// overhead of VXLAN over IPv4 in bytes: outer IP 20, UDP 8, VXLAN 8, inner Ethernet 14.
	overhead = 50
)

// Connect implements network.Technique.
func (Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	s, err := plumb.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	if err := s.Fits("vxlan", nil, plumb.Less(overhead)); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	for _, h := range s.Hosts {
		if err := host(ctx, s, h); err != nil {
			return nil, s.Abandon(ctx, err)
		}
	}
	return &plumb.Network{Site: s, Hops: hops, OnWire: onWire}, nil
}

func host(ctx context.Context, s *plumb.Site, h *plumb.Host) error {
	mtu := h.Uplink().MTU - overhead
	br, err := s.AddBridge(h, bridge, mtu, false)
	if err != nil {
		return err
	}
	br.Kept = 1 // for the tunnel
	if err := br.Attach(ctx, s, h.Nodes, plumb.Plug{Flat: true}); err != nil {
		return err
	}
	if err := h.BridgeNetfilter(false); err != nil {
		return err
	}
	s.Made(device+" of "+h.Name(), func(context.Context) error {
		return nl.With(h.NS, func(n *nl.NS) error { return n.Remove(device) })
	})
	return nl.With(h.NS, func(n *nl.NS) error { return tunnel(n, s, h, mtu) })
}

// tunnel makes the VXLAN device. Frames to addresses it has not learned yet go to
// every other host.
func tunnel(n *nl.NS, s *plumb.Site, h *plumb.Host, mtu int) error {
	uplink, err := n.Link(h.Uplink().Device)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = device, mtu
	err = n.Add(&netlink.Vxlan{
		LinkAttrs: attrs, VxlanId: vni, Port: port, VtepDevIndex: uplink.Attrs().Index,
		SrcAddr: h.Uplink().Addr4.Addr().AsSlice(), Learning: true, UDPCSum: true,
		// UDP source ports are drawn from the ephemeral range by default.
	})
	if err != nil {
		return err
	}
	if err := n.Master(device, bridge); err != nil {
		return err
	}
	link, err := n.Link(device)
	if err != nil {
		return err
	}
	for _, other := range s.Hosts {
		if other == h {
			continue
		}
		err := n.NeighAppend(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, Family: unix.AF_BRIDGE, Flags: netlink.NTF_SELF, State: netlink.NUD_PERMANENT,
			HardwareAddr: make(net.HardwareAddr, 6), IP: other.Uplink().Addr4.Addr().AsSlice(),
		})
		if err != nil {
			return err
		}
	}
	return n.Up(device)
}

func hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	return []network.Hop{
		from.Hop(), from.PortHop(), plumb.DeviceHop(from.Host.Name(), from.Host.NS, device), from.Host.UplinkHop(),
		to.Host.UplinkHop(), plumb.DeviceHop(to.Host.Name(), to.Host.NS, device), to.PortHop(), to.Hop(),
	}
}

func onWire(network.Family) string { return fmt.Sprintf("udp dst port %d", port) }
