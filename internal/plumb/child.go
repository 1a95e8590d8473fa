package plumb

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/network"
)

// Child makes a device (macvlan, ipvlan) on the uplink of the node's host,
// inside the node, with the node's address on the segment that all hosts share.
func (s *Site) Child(ctx context.Context, n *Node, device string, make func(netlink.LinkAttrs) netlink.Link) error {
	if err := n.Host.ours(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ns, err := os.Open(n.NS)
	if err != nil {
		return fmt.Errorf("open network namespace of %s: %w", n.Name(), err)
	}
	defer ns.Close()
	s.MadeDevice(n.NS, device)
	n.Device = device
	// Older kernels (6.1 is one) refuse a new device the name of any that the host
	// has, although it goes elsewhere. So it gets its own name when it is there.
	provisional := fmt.Sprintf("child%d", n.Index)
	err = nl.With(n.Host.NS, func(h *nl.NS) error {
		parent, err := h.Link(n.Host.Uplink().Device)
		if err != nil {
			return err
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.ParentIndex, attrs.Namespace = provisional, parent.Attrs().Index, netlink.NsFd(ns.Fd())
		return h.Add(make(attrs))
	})
	if err != nil {
		return err
	}
	return nl.With(n.NS, func(in *nl.NS) error {
		l, err := in.Link(provisional)
		if err != nil {
			return err
		}
		if err := in.LinkSetName(l, device); err != nil {
			return errors.Join(fmt.Errorf("rename %s to %s: %w", provisional, device, err), in.Remove(provisional))
		}
		if err := in.Up(device); err != nil {
			return err
		}
		return both(func(six bool) error {
			return in.Addr(device, netip.PrefixFrom(n.addr(six), Segment(six).Bits()))
		})
	})
}

// Children does so in every container of the site.
func (s *Site) Children(ctx context.Context, device string, make func(netlink.LinkAttrs) netlink.Link) error {
	for _, n := range s.Nodes() {
		if err := s.Child(ctx, n, device, make); err != nil {
			return err
		}
	}
	return nil
}

// MacvlanBridge is a macvlan device whose siblings reach each other directly.
func MacvlanBridge(attrs netlink.LinkAttrs) netlink.Link {
	return &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}
}

// ChildHops is the path between children of uplinks: siblings on one host talk
// past the uplink, others over it.
func ChildHops(from, to *Node, _ network.Family) []network.Hop {
	if from.Host == to.Host {
		return []network.Hop{from.Hop(), Absent(from.Host.UplinkHop()), to.Hop()}
	}
	return []network.Hop{from.Hop(), from.Host.UplinkHop(), to.Host.UplinkHop(), to.Hop()}
}
