package kernel

import (
	"context"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	vxlanDevice = "vxlan0"
	vni         = 42
	vxlanPort   = 4789 // IANA's for VXLAN, RFC 7348
	// vxlanOverhead of VXLAN over IPv4 in bytes: outer IP 20, UDP 8, VXLAN 8, inner Ethernet 14.
	vxlanOverhead = 50
)

// VXLAN is the datapath that overlay networks share: on each host a bridge with the containers and
// a VXLAN device that carries their frames to the other hosts in UDP.
func VXLAN() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "vxlan", Hosts: []int{2}, Endpoints: plumb.MaxPorts - 1, Overflow: true, // one port of the bridge is the tunnel's
			About: "a bridge and a VXLAN device on each host, one segment over all hosts, as in Swarm's overlay; MTU 50 below the underlay's",
		},
		Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.VXLAN},
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.Hops = deviceHops(func(*plumb.Host) string { return vxlanDevice })
			n.OnWire = func(network.Family) string { return fmt.Sprintf("udp dst port %d", vxlanPort) }
			if err := n.Fits("vxlan", nil, plumb.Less(vxlanOverhead)); err != nil {
				return err
			}
			for _, h := range n.Site.Hosts {
				if err := vxlanHost(ctx, n.Site, h); err != nil {
					return err
				}
			}
			return nil
		},
	}.Driver()
}

func vxlanHost(ctx context.Context, s *plumb.Site, h *plumb.Host) error {
	mtu := h.Uplink().MTU - vxlanOverhead
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
	s.MadeDevice(h.NS, vxlanDevice)
	return nl.With(h.NS, func(n *nl.NS) error { return vxlanTunnel(n, s, h, mtu) })
}

// vxlanTunnel makes the VXLAN device. Frames to addresses it has not learned yet go to
// every other host.
func vxlanTunnel(n *nl.NS, s *plumb.Site, h *plumb.Host, mtu int) error {
	uplink, err := n.Link(h.Uplink().Device)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = vxlanDevice, mtu
	err = n.Add(&netlink.Vxlan{
		LinkAttrs: attrs, VxlanId: vni, Port: vxlanPort, VtepDevIndex: uplink.Attrs().Index,
		SrcAddr: h.Uplink().Addr4.Addr().AsSlice(), Learning: true, UDPCSum: true,
		// UDP source ports are drawn from the ephemeral range by default.
	})
	if err != nil {
		return err
	}
	if err := n.Master(vxlanDevice, bridge); err != nil {
		return err
	}
	link, err := n.Link(vxlanDevice)
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
	return n.Up(vxlanDevice)
}
