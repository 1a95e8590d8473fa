// Package udpoverlay measures what it costs that packets between hosts leave the kernel:
// a process on each host takes them, puts them into UDP and gives them back. It is
// nettoll's own and as small as such a thing can be, a reference datapath for overlays in
// user space, and none of these.
package udpoverlay

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is the overlay in one of its variants.
type Technique struct {
	frames bool // it takes whole frames off a port of the bridge, else packets that are routed to it
}

// NewTUN gives the variant that packets are routed to, through a TUN device, as flannel's
// udp backend has it.
func NewTUN() Technique { return Technique{} }

// NewPacket gives the variant that takes frames off a port of the bridge through a packet
// socket, as Weave Net's sleeve does with pcap.
func NewPacket() Technique { return Technique{frames: true} }

// Name implements network.Technique.
func (t Technique) Name() string {
	if t.frames {
		return "udp-overlay-packet"
	}
	return "udp-overlay-tun"
}

// About implements network.Technique.
func (t Technique) About() string {
	if t.frames {
		return "a bridge on each host, one segment over all hosts: a process of nettoll's own takes frames off a port of the bridge " +
			"(AF_PACKET), learns where addresses are, and carries them in UDP, one frame a datagram; checksums and segmentation " +
			"offload of the containers are off, since no device completes what the process takes; MTU 42 below the underlay's"
	}
	return "a bridge on each host and a route to the other hosts' containers through a TUN device: a process of nettoll's own reads " +
		"packets from it and carries them in UDP, one packet a datagram; MTU 28 below the underlay's"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{2} }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold: one port of the bridge may be
// the overlay's.
func (t Technique) MaxEndpoints() int {
	if t.frames {
		return plumb.MaxPorts - 1
	}
	return plumb.MaxPorts
}

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if !t.frames {
		return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice, plumb.TUN)
	}
	if err := plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice); err != nil {
		return err
	}
	return trySocket(ctx)
}
