package cni

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// plug describes how a container's device is attached to its host.
type plug struct {
	kind    string // of the device
	mtu     int    // bytes
	port    string // the other end of a veth pair, on the host
	bridge  string // to which the port belongs
	further bool   // whether that bridge has ports other than ends of veth pairs
	parent  string // of a macvlan or ipvlan device
	within  bool   // whether siblings reach each other without crossing their parent
}

// look finds out how a container's device is attached to its host, and waits until it forwards.
func look(ctx context.Context, n *plumb.Node) (*plug, error) {
	p := &plug{}
	var index, peer int
	err := nl.With(n.NS, func(in *nl.NS) error {
		l, err := in.Link(n.Device)
		if err != nil {
			return err
		}
		p.kind, p.mtu = l.Type(), l.Attrs().MTU
		index = l.Attrs().Index
		// Every namespace numbers its devices from 1, so an index alone does not identify the peer.
		host, err := in.HomeOf(n.Host.NS)
		if err != nil {
			return err
		}
		if host != nl.Here && nl.Home(l.Attrs().NetNsID) == host {
			peer = l.Attrs().ParentIndex
		}
		switch l := l.(type) {
		case *netlink.Macvlan:
			p.within = l.Mode == netlink.MACVLAN_MODE_BRIDGE
		case *netlink.IPVlan:
			p.within = l.Flag == netlink.IPVLAN_FLAG_BRIDGE
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	on, err := devices(n.Host.NS)
	if err != nil {
		return nil, err
	}
	below, found := on[peer]
	switch {
	case !found:
		return p, nil
	case p.kind == "macvlan" || p.kind == "ipvlan":
		p.parent = below.Name
		return p, nil
	case p.kind != "veth" || below.Kind != "veth" || below.Peer != index:
		return p, nil
	}
	p.port, n.Port = below.Name, below.Name
	if master, ok := on[below.Master]; ok {
		p.bridge = master.Name
		p.further = slices.ContainsFunc(slices.Collect(maps.Values(on)), func(d nl.Interface) bool {
			return d.Master == master.Index && (d.Kind != "veth" || d.Name == n.Host.Uplink().Device)
		})
	}
	return p, nl.With(n.Host.NS, func(in *nl.NS) error { return in.Running(ctx, p.port) })
}

// hops returns the path between two containers, as far as it is known.
func (n *build) hops(from, to *plumb.Node, f network.Family) []network.Hop {
	a, b := n.plugs[from], n.plugs[to]
	hops := []network.Hop{from.Hop()}
	if from.Host != to.Host {
		there := leg{from, to, f}
		hops = append(hops, out(from, a, n.ways[there])...)
		back := out(to, b, n.ways[there.back()])
		slices.Reverse(back)
		return append(append(hops, back...), to.Hop())
	}
	switch {
	case a.port != "" && b.port != "":
		hops = append(hops, portHop(from, a))
		if a.bridge != b.bridge { // the host routes between them
			hops = append(hops, bridgeHops(from.Host, a.bridge, b.bridge)...)
		}
		hops = append(hops, portHop(to, b))
	case a.parent != "" && a.parent == b.parent:
		below := from.Host.Hop(a.parent, "")
		if a.within {
			below = plumb.Absent(below)
		}
		hops = append(hops, below)
	}
	return append(hops, to.Hop())
}

// out returns the path from a container to the underlay, inclusive.
func out(n *plumb.Node, p *plug, w way) (hops []network.Hop) {
	uplink := n.Host.Uplink().Device
	if p.port != "" {
		hops = append(hops, portHop(n, p))
		if w.routed {
			hops = append(hops, bridgeHops(n.Host, p.bridge)...)
		}
	}
	for _, device := range []string{p.parent, w.device} { // usually a tunnel
		if device != "" && device != uplink {
			hops = append(hops, n.Host.Hop(device, ""))
		}
	}
	return append(hops, n.Host.UplinkHop())
}

// bridgeHops counts packets routed through bridges. A bridge's own device does not count bridged
// packets.
func bridgeHops(h *plumb.Host, bridges ...string) (hops []network.Hop) {
	for _, b := range bridges {
		if b != "" {
			hops = append(hops, h.Hop(b, "bridge"))
		}
	}
	return hops
}

// portHop is the other end of a container's veth pair. The plugin makes up the name of the device,
// but not that of the hop.
func portHop(n *plumb.Node, p *plug) network.Hop {
	h := n.Host.Hop(p.port, plumb.Pair)
	h.Name = n.Host.Name() + "/" + portName(n)
	return h
}

func portName(n *plumb.Node) string { return "veth-" + n.Name() }

// leg is one direction between a client and its server, over one IP version.
type leg struct {
	from, to *plumb.Node
	family   network.Family
}

// back returns the other direction.
func (l leg) back() leg { return leg{l.to, l.from, l.family} }

// lead finds the ways between hosts. Each pair must have one, over any family.
func (n *build) lead() error {
	for i, c := range n.Clients {
		server := n.Servers[n.Topo.Pair(i)]
		if c.Host == server.Host {
			continue
		}
		if err := n.leadPair(c, server); err != nil {
			return err
		}
	}
	return nil
}

func (n *build) leadPair(client, server *plumb.Node) error {
	var first error
	open := false
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		there := leg{client, server, f}
		if !client.Addr(f).IsValid() || !server.Addr(f).IsValid() {
			continue
		}
		var err error
		for _, l := range []leg{there, there.back()} {
			if n.ways[l], err = n.way(l); err != nil {
				break
			}
		}
		switch {
		case err == nil:
			open = true
		case !errors.Is(err, platform.ErrUnsupported):
			return err
		default:
			n.closed[there], n.closed[there.back()] = err, err
			first = cmp.Or(first, err)
		}
	}
	if open {
		return nil
	}
	return first
}

// way is how a host sends packets of its containers to those of another.
type way struct {
	device string // through which they leave; empty if the host does not route them
	routed bool   // through the bridge that the container's port belongs to
}

// way finds the way of a leg on the host where it begins. Containers attached by a veth pair need a
// route there, or a bridge with further ports.
func (n *build) way(l leg) (w way, err error) {
	p, dst := n.plugs[l.from], l.to.Addr(l.family)
	if p.port == "" {
		return w, nil
	}
	err = nl.With(l.from.Host.NS, func(in *nl.NS) error {
		out, err := in.Toward(dst)
		if err == nil && out.Attrs().Name != p.bridge {
			w = way{device: out.Attrs().Name, routed: true}
			return nil
		}
		if p.bridge != "" && p.further {
			return nil // the bridge itself leads to the other host
		}
		found := "has no route there"
		if err == nil {
			found = "expects it on " + p.bridge + ", which has no ports but those of containers"
		}
		return &platform.Unsupported{
			Feature: "a way between hosts", Option: "plugins that make one, or routes",
			Remedy: "--hosts 1 measures it on one host",
			Err:    fmt.Errorf("to reach %s at %s, %s %s", l.to.Name(), dst, l.from.Host.Name(), found),
		}
	})
	return w, err
}
