package docker

import (
	"context"
	"fmt"
	"net/netip"

	networks "github.com/moby/moby/api/types/network"

	"nettoll/docker/engine"
	"nettoll/network"
)

// link is docker run --link SERVER:ALIAS: the client has the server's address by a name,
// and, where containers may not talk otherwise, the ports that the server exposes.
func link(ctx context.Context, n *build) error {
	h := n.hosts[0]
	b, err := h.InspectBridge(ctx, "bridge")
	if err != nil {
		return err
	}
	n.Push("links", n.unlink)
	server := func(_ *engine.Host, i int) engine.Spec {
		s := engine.Spec{Mode: "bridge"}
		first, last := n.topo.Ports(i)
		for port := first; port <= last; port++ {
			for _, p := range []networks.IPProtocol{networks.TCP, networks.UDP} {
				if at, ok := networks.PortFrom(uint16(port), p); ok {
					s.Expose = append(s.Expose, at)
				}
			}
		}
		return s
	}
	linking := func(_ *engine.Host, i int) engine.Spec {
		k := n.topo.Pair(i)
		return engine.Spec{Mode: "bridge", Links: []string{n.servers[k].container.FullName() + ":" + alias(k)}}
	}
	if err := n.run(ctx, server, linking); err != nil {
		return err
	}
	linked, err := n.resolve(ctx)
	if err != nil {
		return err
	}
	n.reach = func(from, to *node, f network.Family) (netip.Addr, error) {
		if a, ok := linked[from]; ok && f == network.IPv4 {
			return a, nil
		}
		return to.own(f)
	}
	n.hops = bridged
	return n.wire(ctx, b.Device, append(append([]*node{}, n.servers...), n.clients...)...)
}

// unlink removes all containers but the servers, before these: an engine finds the rules
// of a link by the container that it leads to, and keeps them for good where that has
// gone first.
func (n *build) unlink(ctx context.Context) error {
	var servers []*engine.Container
	for _, s := range n.servers {
		servers = append(servers, s.container)
	}
	return n.hosts[0].Engine.RemoveBut(ctx, servers...)
}

// alias is the name by which clients know a server.
func alias(server int) string { return fmt.Sprintf("server%d", server+1) }

// resolve asks each client for the address that its link has.
func (n *build) resolve(ctx context.Context) (map[*node]netip.Addr, error) {
	linked := map[*node]netip.Addr{}
	for i, c := range n.clients {
		k := n.topo.Pair(i)
		a, err := c.container.Resolve(ctx, alias(k))
		if err != nil {
			return nil, err
		}
		if own := n.servers[k].container.Addr(false); a != own {
			return nil, &network.WrongPath{Finding: fmt.Sprintf("the link %s of %s leads to %s, but %s is at %s", alias(k), c.Name(), a, n.servers[k].Name(), own)}
		}
		linked[c] = a
	}
	return linked, nil
}
