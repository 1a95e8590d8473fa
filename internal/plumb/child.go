package plumb

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/network"
	"nettoll/record"
)

// child makes a device (macvlan, ipvlan) in the node on top of the uplink of its host, with the node's
// address on the segment that all hosts share.
func (s *Site) child(ctx context.Context, n *Node, device string, kind ChildKind) error {
	if err := n.Host.ours(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.MadeDevice(n.NS, device)
	n.Device = device
	// Older kernels, such as 6.1, refuse a new device the name of any device of the host, although it goes
	// to another namespace. So it gets its own name once it is there.
	provisional := fmt.Sprintf("child%d", n.Index)
	err := netns.Hold(n.NS, func(fd int) error {
		return n.Host.onUplink(provisional, func(attrs netlink.LinkAttrs) netlink.Link {
			attrs.Namespace = netlink.NsFd(fd)
			link := kind(attrs)
			n.Link = link.Type()
			return link
		})
	})
	if err != nil {
		return err
	}
	return nl.With(n.NS, func(in *nl.NS) error {
		if err := in.Rename(provisional, device); err != nil {
			return errors.Join(err, in.Remove(provisional))
		}
		return in.UpAs(device, netip.PrefixFrom(n.Addr4, Segment(false).Bits()), netip.PrefixFrom(n.Addr6, Segment(true).Bits()))
	})
}

// AddChild makes a device on top of the host's uplink for the host itself, with addresses that no other
// device has.
func (s *Site) AddChild(h *Host, device string, kind ChildKind, addrs ...netip.Prefix) error {
	s.MadeDevice(h.NS, device)
	if err := h.onUplink(device, kind); err != nil {
		return err
	}
	return nl.With(h.NS, func(n *nl.NS) error { return n.UpAs(device, addrs...) })
}

// onUplink makes a device on top of the host's uplink.
func (h *Host) onUplink(device string, kind ChildKind) error {
	below := h.NS
	if h.Apart {
		below = ""
	}
	return nl.With(below, func(n *nl.NS) error {
		parent, err := n.Link(h.Uplink().Device)
		if err != nil {
			return err
		}
		attrs := nl.Attrs(device, 0)
		attrs.ParentIndex = parent.Attrs().Index
		return n.Add(kind(attrs))
	})
}

// Children connects all containers by devices on top of their hosts' uplinks.
func (n *Network) Children(ctx context.Context, device string, kind ChildKind) error {
	n.Hops = ChildHops
	return record.Try(n.Nodes(), func(node *Node) error { return n.child(ctx, node, device, kind) })
}

// ChildrenPart returns the Builder of Children.
func ChildrenPart(device string, kind ChildKind) Builder {
	return func(ctx context.Context, s *Site, h *Host) (Built, error) {
		return Built{}, record.Try(h.Nodes, func(node *Node) error { return s.child(ctx, node, device, kind) })
	}
}

// ChildKind makes a device that has another one as its parent.
type ChildKind func(netlink.LinkAttrs) netlink.Link

// MacvlanBridge is a macvlan device whose siblings reach each other directly.
func MacvlanBridge(attrs netlink.LinkAttrs) netlink.Link {
	return &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}
}

// IPVlan is an ipvlan device in the given mode.
func IPVlan(mode netlink.IPVlanMode) ChildKind {
	return func(attrs netlink.LinkAttrs) netlink.Link { return &netlink.IPVlan{LinkAttrs: attrs, Mode: mode} }
}

// ChildHops is the path between children of uplinks: siblings on one host do not use the uplink,
// others do.
func ChildHops(from, to *Node, _ network.Family) []network.Hop {
	ends := record.Each([]*Node{from, to}, func(n *Node) network.Hop {
		h := n.Hop()
		h.Meets = n.Host.UplinkHop().Name
		return h
	})
	return slices.Concat(ends[:1], UplinkHops(from.Host, to.Host), ends[1:])
}
