package docker

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/docker/engine"
	"nettoll/record"
)

// link is the network of docker run --link SERVER:ALIAS: the client finds the server's address by a
// name and, where containers may not talk otherwise, reaches the ports that the server exposes.
func link(ctx context.Context, n *build) error {
	device, err := n.engines[0].Bridge(ctx, "bridge")
	if err != nil {
		return err
	}
	n.Push("links", n.unlink)
	alias := func(server int) string { return fmt.Sprintf("server%d", server+1) }
	server := func(_ *engine.Host, i int) engine.Spec {
		return engine.Spec{Mode: "bridge", Ports: engine.PortsOf(n.Topo.Ports(i))}
	}
	client := func(_ *engine.Host, i int) engine.Spec {
		k := n.Topo.Pair(i)
		return engine.Spec{Mode: "bridge", Links: []string{inside(n.Servers[k]).FullName() + ":" + alias(k)}}
	}
	if err := n.run(ctx, server, client); err != nil {
		return err
	}
	if err := n.lookedUp(ctx, alias, func(server int) netip.Addr { return n.Servers[server].Addr4 }); err != nil {
		return err
	}
	return n.bridged(ctx, device)
}

// unlink removes all other containers before the servers: an engine finds the rules of a link by
// the container that it leads to, and keeps them forever if that one is removed first.
func (n *build) unlink(ctx context.Context) error {
	return n.engines[0].RemoveBut(ctx, record.Each(n.Servers, inside)...)
}
