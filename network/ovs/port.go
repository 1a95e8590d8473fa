package ovs

import (
	"context"
	"fmt"
	"strconv"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// ports is the kind of port by which containers are attached.
type ports int

const (
	veth     ports = iota
	bareVeth       // without offloads: the user-space datapath cannot finish checksums of packets from veth devices
	afxdp          // like bareVeth, with AF_XDP sockets instead of AF_PACKET ones
	internal       // a tap device of ovs-vswitchd, moved into the container
)

const device = "eth0" // in containers

// maxXDP is the largest MTU of a veth device with an XDP program, in bytes: a frame, its headroom
// and the kernel's data behind it share one page.
const maxXDP = 3498

// maxPhysical is the largest MTU of a bridge in the user-space datapath, which is a tap device, in bytes: 65535 less an Ethernet
// header. The kernel refuses more.
const maxPhysical = 65521

// number returns a container's OpenFlow port number.
func number(n *plumb.Node) int { return n.Index + 1 }

// name returns the name of a container's port.
func (p ports) name(n *plumb.Node) string {
	if p == internal {
		return fmt.Sprintf("tap%d", n.Index)
	}
	return fmt.Sprintf("veth%d", n.Index)
}

// attach makes and configures the veth pairs of the host's containers, if they have any, and
// returns the ovs-vsctl commands that make ports of them.
func (b *build) attach(ctx context.Context, v *vswitch, mtu int) (commands []string, err error) {
	if b.tech.ports != internal {
		if err := b.pairs(ctx, v.host, mtu); err != nil {
			return nil, err
		}
	}
	for _, n := range v.host.Nodes {
		commands = append(commands, "--", "add-port", bridge, n.Port,
			"--", "set", "Interface", n.Port, "ofport_request="+strconv.Itoa(number(n)))
		switch b.tech.ports {
		case internal:
			commands = append(commands, "type=internal", "mtu_request="+strconv.Itoa(mtu))
		case afxdp:
			commands = append(commands, "type=afxdp")
		}
	}
	return commands, nil
}

// pairs makes veth pairs between the host and its containers.
func (b *build) pairs(ctx context.Context, h *plumb.Host, mtu int) error {
	if err := b.Pairs(ctx, h, h.Nodes, 0, mtu); err != nil {
		return fmt.Errorf("attach to %s: %w", bridge, err)
	}
	if b.tech.ports != veth {
		if err := h.CompleteChecksums(); err != nil {
			return err
		}
	}
	var ports []string
	for _, n := range h.Nodes {
		if err := configure(ctx, n); err != nil {
			return fmt.Errorf("configure %s: %w", n.Name(), err)
		}
		ports = append(ports, n.Port)
	}
	return nl.With(h.NS, func(in *nl.NS) error { return in.Running(ctx, ports...) })
}

// give moves internal ports into their containers.
func (b *build) give(ctx context.Context, h *plumb.Host) error {
	for _, n := range h.Nodes {
		n.Link = "tuntap"
		err := nl.With(h.NS, func(in *nl.NS) error { return in.Give(n.Port, n.NS, n.Device) })
		if err == nil {
			err = configure(ctx, n)
		}
		if err == nil {
			err = segments(n)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name(), err)
		}
	}
	return nil
}

// configure brings the container's device up and gives it its addresses on the segment that all
// containers share.
func configure(ctx context.Context, n *plumb.Node) error {
	return n.Configure(ctx, plumb.Attachment{Flat: true})
}
