package cni

import (
	"context"
	"maps"
	"slices"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// plug is how a container's device hangs on its host.
type plug struct {
	kind    string // of the device
	mtu     int    // bytes
	port    string // the other end of a veth pair, on the host
	bridge  string // that the port belongs to
	further bool   // that bridge has ports that are no other end of a pair
	parent  string // of a macvlan or ipvlan device
	within  bool   // siblings reach each other without their parent
}

// look finds out how a container's device hangs on its host, and waits until it forwards.
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
		// Every namespace numbers its devices from 1.
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

// hops is the path between two containers, as far as it is known.
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
		below := plumb.DeviceHop(from.Host.Name(), from.Host.NS, a.parent)
		if a.within {
			below = plumb.Absent(below)
		}
		hops = append(hops, below)
	}
	return append(hops, to.Hop())
}

// out is the way from a container to the underlay, inclusive.
func out(n *plumb.Node, p *plug, w way) (hops []network.Hop) {
	uplink := n.Host.Uplink().Device
	if p.port != "" {
		hops = append(hops, portHop(n, p))
		if w.routed {
			hops = append(hops, bridgeHops(n.Host, p.bridge)...)
		}
	}
	for _, device := range []string{p.parent, w.device} { // a tunnel, as a rule
		if device != "" && device != uplink {
			hops = append(hops, plumb.DeviceHop(n.Host.Name(), n.Host.NS, device))
		}
	}
	return append(hops, n.Host.UplinkHop())
}

// bridgeHops count what is routed through bridges. What is bridged they do not see.
func bridgeHops(h *plumb.Host, bridges ...string) (hops []network.Hop) {
	for _, b := range bridges {
		if b != "" {
			hops = append(hops, plumb.DeviceHop(h.Name(), h.NS, b))
		}
	}
	return hops
}

// portHop is the other end of a container's veth pair. Its name is made up by the plugin;
// that of the hop is not.
func portHop(n *plumb.Node, p *plug) network.Hop {
	h := plumb.DeviceHop(n.Host.Name(), n.Host.NS, p.port)
	h.Name = n.Host.Name() + "/" + portName(n)
	return h
}

func portName(n *plumb.Node) string { return "veth-" + n.Name() }
