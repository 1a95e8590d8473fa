package kernel

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	vni       = 42
	vxlanPort = 4789 // IANA's for VXLAN, RFC 7348
)

// vxlan is the datapath that overlay networks share: on each host a bridge with the containers, and a VXLAN device that
// carries their frames to the other hosts in UDP.
var vxlan = tunnel{
	Info: network.Info{
		Name:  "vxlan",
		About: "a bridge and a VXLAN device on each host, one segment over all hosts, as in Swarm's overlay; MTU 50 below the underlay's",
	},
	wire: fmt.Sprintf("udp dst port %d", vxlanPort), link: "vxlan", need: plumb.VXLAN, shared: vxlanTunnel, flat: true,
	payload: plumb.Less(20 + 8 + 8 + 14), // outer IP, UDP, VXLAN, inner Ethernet
}

// VXLAN returns the driver of vxlan.
func VXLAN() network.Driver { return vxlan.driver() }

// vxlanTunnel makes the VXLAN device. Frames to addresses that it has not learned yet go to every
// other host.
func vxlanTunnel(n *nl.NS, name string, s *plumb.Site, h *plumb.Host, mtu int) error {
	if err := h.SparesLRO(); err != nil { // of which the device would be an upper one, and a port of a bridge
		return err
	}
	device := &netlink.Vxlan{
		LinkAttrs: nl.Attrs(name, mtu), VxlanId: vni + s.Beside, Port: vxlanPort,
		SrcAddr: h.OnUnderlay(false).AsSlice(), Learning: true, UDPCSum: true,
		// UDP source ports are drawn from the ephemeral range by default.
	}
	err := h.AddOver(device, func(uplink netlink.Link) { device.VtepDevIndex = uplink.Attrs().Index })
	if err != nil {
		return err
	}
	if err := n.Master(name, bridge); err != nil {
		return err
	}
	link, err := n.Link(name)
	if err != nil {
		return err
	}
	for _, other := range s.Others(h) {
		err := n.NeighAppend(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, Family: unix.AF_BRIDGE, Flags: netlink.NTF_SELF, State: netlink.NUD_PERMANENT,
			HardwareAddr: make(net.HardwareAddr, 6), IP: other.OnUnderlay(false).AsSlice(),
		})
		if err != nil {
			return err
		}
	}
	return n.Up(name)
}
