package ovs

import (
	"context"
	"fmt"
	"strconv"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// ports is what containers are attached by.
type ports int

const (
	veth     ports = iota
	bareVeth       // without offloads: the user-space datapath cannot finish checksums of packets from veth devices
	afxdp          // the same, with AF_XDP sockets instead of AF_PACKET ones
	internal       // a tap device of ovs-vswitchd's, moved into the container
)

const device = "eth0" // in containers

// maxXDP is the largest MTU of a veth device with an XDP program, in bytes: a frame, its headroom and what
// the kernel keeps behind it have one page.
const maxXDP = 3498

// number is a container's port in OpenFlow.
func number(n *plumb.Node) int { return n.Index + 1 }

// name of a container's port.
func (p ports) name(n *plumb.Node) string {
	if p == internal {
		return fmt.Sprintf("tap%d", n.Index)
	}
	return fmt.Sprintf("veth%d", n.Index)
}

// attach makes the veth pairs of the host's containers, where they have such, configures them and
// gives the ovs-vsctl commands that make ports of them.
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
	for _, n := range h.Nodes {
		if b.tech.ports != veth {
			if err := n.CompleteChecksums(); err != nil {
				return err
			}
		}
		if err := configure(ctx, n); err != nil {
			return fmt.Errorf("configure %s: %w", n.Name(), err)
		}
	}
	return nl.With(h.NS, func(in *nl.NS) error {
		for _, n := range h.Nodes {
			if err := in.Running(ctx, n.Port); err != nil {
				return err
			}
		}
		return nil
	})
}

// give moves internal ports into their containers.
func (b *build) give(ctx context.Context, h *plumb.Host) error {
	for _, n := range h.Nodes {
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

// configure brings the container's device up and gives it its addresses on the segment that
// all containers share.
func configure(ctx context.Context, n *plumb.Node) error {
	if err := n.Configure(ctx, plumb.Plug{Flat: true}); err != nil {
		return err
	}
	return nl.With(n.NS, func(in *nl.NS) error { return in.Own(ctx, n.Addr4, n.Addr6) })
}
