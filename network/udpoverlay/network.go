// Package udpoverlay measures what it costs that packets between hosts leave the kernel:
// a process on each host takes them, puts them into UDP and gives them back. It is
// nettoll's own and as small as such a thing can be, a reference datapath for overlays in
// user space, and none of these.
package udpoverlay

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// variant is the overlay in one of its ways.
type variant struct {
	network.Info
	frames bool // it takes whole frames off a port of the bridge, else packets that are routed to it
}

// NewTUN is the variant that packets are routed to, through a TUN device, as flannel's
// udp backend has it.
func NewTUN() network.Driver {
	return variant{Info: network.Info{
		Name: "udp-overlay-tun", Hosts: []int{2}, Endpoints: plumb.MaxPorts, Overflow: true,
		About: "a bridge on each host and a route to the other hosts' containers through a TUN device: a process of nettoll's own reads " +
			"packets from it and carries them in UDP, one packet a datagram; MTU 28 below the underlay's",
	}}.driver(nil, plumb.TUN)
}

// NewPacket is the variant that takes frames off a port of the bridge through a packet
// socket, as Weave Net's sleeve does with pcap.
func NewPacket() network.Driver {
	return variant{frames: true, Info: network.Info{
		Name: "udp-overlay-packet", Hosts: []int{2}, Endpoints: plumb.MaxPorts - 1, Overflow: true, // one port of the bridge is the overlay's
		About: "a bridge on each host, one segment over all hosts: a process of nettoll's own takes frames off a port of the bridge " +
			"(AF_PACKET), learns where addresses are, and carries them in UDP, one frame a datagram; checksums and segmentation " +
			"offload of the containers are off, since no device completes what the process takes; MTU 42 below the underlay's",
	}}.driver(trySocket)
}

func (v variant) driver(have func(context.Context) error, further ...plumb.Need) network.Driver {
	return plumb.Recipe{Info: v.Info, Needs: append([]plumb.Need{plumb.Veth, plumb.BridgeDevice}, further...), Have: have, Build: v.build}.Driver()
}
