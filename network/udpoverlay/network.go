// Package udpoverlay measures the cost of packets between hosts leaving the kernel: a process on
// each host reads them, puts them into UDP and writes them back. It is nettoll's own and as small
// as possible: a reference datapath for overlays in user space, not one of the overlays in use.
package udpoverlay

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// variant is one variant of the overlay.
type variant struct {
	network.Info
	frames bool // whether it takes whole frames off a port of the bridge, rather than packets routed to it
}

// NewTUN returns the driver of the variant to which packets are routed, through a TUN device, like
// flannel's udp backend.
func NewTUN() network.Driver {
	return variant{Info: network.Info{
		Name: "udp-overlay-tun", Carried: true, Hosts: []int{2}, Endpoints: plumb.MaxPorts, Overflow: true,
		About: "a bridge on each host and a route to the other hosts' containers through a TUN device: a process of nettoll's own reads " +
			"packets from it and carries them in UDP, one packet a datagram; MTU 28 below the underlay's",
	}}.driver(nil, plumb.TUN)
}

// NewPacket returns the driver of the variant that takes frames off a port of the bridge through a
// packet socket, as Weave Net's sleeve does with pcap.
func NewPacket() network.Driver {
	return variant{frames: true, Info: network.Info{
		Name: "udp-overlay-packet", Carried: true, Hosts: []int{2}, Endpoints: plumb.MaxPorts - 1, Overflow: true, // one port of the bridge is the overlay's
		About: "a bridge on each host, one segment over all hosts: a process of nettoll's own takes frames off a port of the bridge " +
			"(AF_PACKET), learns where addresses are, and carries them in UDP, one frame a datagram; checksums and segmentation " +
			"offload of the containers are off, since no device completes what the process takes; MTU 42 below the underlay's",
	}}.driver(trySocket)
}

func (v variant) driver(have func(context.Context) error, further ...plumb.Need) network.Driver {
	return plumb.Recipe{Info: v.Info, Needs: append([]plumb.Need{plumb.Veth, plumb.BridgeDevice}, further...), Have: have, Build: v.build}.Driver()
}

// trySocket opens a packet socket on a device of a temporary namespace.
func trySocket(ctx context.Context) error {
	made, err := netns.New(ctx, 1, func() error {
		if err := nl.With("", func(n *nl.NS) error { return n.Up("lo") }); err != nil {
			return err
		}
		f, err := nl.Packet("lo")
		if err == nil {
			err = f.Close()
		}
		return err
	})
	for _, ns := range made {
		ns.Close()
	}
	if err == nil {
		return nil
	}
	missing := platform.Unsupported{Feature: "packet sockets", Option: "CONFIG_PACKET", Remedy: "modprobe af_packet as root, or use a kernel that has CONFIG_PACKET", Err: err}
	if errors.Is(err, unix.ENOPROTOOPT) {
		missing.Option, missing.Remedy = "Linux 4.20", "use a newer kernel: this one cannot keep a packet socket from receiving the packets that it sends"
	}
	return &missing
}
