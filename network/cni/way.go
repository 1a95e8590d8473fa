package cni

import (
	"errors"
	"fmt"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// leg is one direction between a client and its server, over one IP version.
type leg struct {
	from, to *plumb.Node
	family   network.Family
}

// back is the other direction.
func (l leg) back() leg { return leg{l.to, l.from, l.family} }

// lead finds the ways between hosts. It wants one for each pair, over any family.
func (n *build) lead() error {
	for i, c := range n.Network.Site.Clients {
		sv := n.Network.Site.Servers[n.Topo.Pair(i)]
		if c.Host == sv.Host {
			continue
		}
		if err := n.leadPair(c, sv); err != nil {
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
		err := n.leadBoth(there)
		switch {
		case err == nil:
			open = true
		case !errors.Is(err, platform.ErrUnsupported):
			return err
		default:
			n.closed[there], n.closed[there.back()] = err, err
			if first == nil {
				first = err
			}
		}
	}
	if open {
		return nil
	}
	return first
}

// leadBoth finds the ways there and back.
func (n *build) leadBoth(there leg) (err error) {
	for _, l := range []leg{there, there.back()} {
		if n.ways[l], err = n.way(l); err != nil {
			return err
		}
	}
	return nil
}

// way is how a host leads packets of its containers to those of another.
type way struct {
	device string // that they leave by; empty where the host does not route them
	routed bool   // through the bridge that the container's port belongs to
}

// way asks the host where a leg begins. Containers that hang on a veth pair need a route
// there, or a bridge that reaches further.
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
			return nil // the bridge itself leads on
		}
		found := "no route there"
		if err == nil {
			found = "it to be on " + p.bridge + ", which has no port but those of containers"
		}
		return &platform.Unsupported{
			Feature: "a way between hosts", Option: "plugins that make one, or routes",
			Remedy: "--hosts 1 measures it on one host",
			Err:    fmt.Errorf("to reach %s at %s, %s has %s", l.to.Name(), dst, l.from.Host.Name(), found),
		}
	})
	return w, err
}
