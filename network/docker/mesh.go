package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// ingressUnderlay is the MTU of the underlay, in bytes, that Swarm assumes when it makes the
// network of published ports.
const ingressUnderlay = 1500

// ingress is the namespace of a node's load balancer for published ports.
const ingress = "ingress_sbox"

// balancers returns at which addresses containers see the nodes whose load balancers can be read from here, which send what clients
// there send. Containers have another device towards the nodes' own addresses.
func (n *build) balancers() (map[*plumb.Host]netip.Addr, error) {
	all := map[*plumb.Host]netip.Addr{}
	for _, h := range n.Hosts {
		path := n.engines[h.Index].Sandbox(ingress)
		if path == "" {
			continue
		}
		err := nl.With(path, func(s *nl.NS) error {
			has, err := s.Addresses()
			for _, a := range has {
				if a.Device == "eth0" && a.At.Addr().Is4() && !a.At.IsSingleIP() { // services have single addresses there
					all[h] = a.At.Addr()
				}
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: addresses of %s: %w", h.Name(), ingress, err)
		}
	}
	return all, nil
}

// mesh is the network of docker service create --publish: clients are processes of nodes and know
// only the address of their own node. Swarm publishes on all addresses of all nodes, so that anyone
// could reach ports on machines of the user.
func mesh(ctx context.Context, n *build) error {
	if n.engines[0].Borrowed() {
		return &platform.Unsupported{
			Feature: "the routing mesh", Option: "nodes that nobody else can reach: Swarm publishes ports on all addresses of all nodes",
			Remedy: "--private-engine starts engines on hosts of the lab",
		}
	}
	if err := n.balanced(ctx, routingMesh); err != nil {
		return err
	}
	switch mtu := n.engines[0].Uplink().MTU; {
	case mtu < ingressUnderlay:
		return &platform.Unsupported{
			Feature: fmt.Sprintf("the routing mesh over an underlay with the MTU %d", mtu), Option: fmt.Sprintf("at least %d", ingressUnderlay),
			Remedy: "leave the MTU as it is", Err: errors.New("Swarm makes the network of published ports for that MTU"),
		}
	case mtu > ingressUnderlay:
		n.Notes = append(n.Notes, fmt.Sprintf("Swarm makes the network of published ports for an underlay with the MTU %d, but this one has %d", ingressUnderlay, mtu))
	}
	n.balances = true
	n.ClientsOnHosts()
	if err := n.silent(ctx, plain("bridge")); err != nil {
		return err
	}
	_, err := n.serve(ctx, func(i int) engine.ServiceSpec {
		return engine.ServiceSpec{Network: engine.Ingress, VIP: true, Publish: engine.PortsOf(n.Topo.Ports(i))}
	})
	if err != nil {
		return err
	}
	t, err := n.tunnel(ctx, engine.Ingress, engine.Ingress)
	if err != nil {
		return err
	}
	n.Translated = true
	balancers, err := n.balancers()
	if err != nil {
		return err
	}
	n.Reach = func(from, to *plumb.Node, f network.Family) netip.Addr {
		at, known := balancers[to.Host]
		switch {
		case slices.Contains(n.Servers, to):
			return n.OnHost(from.Host).Addr(f)
		case known:
			return at
		}
		return to.Addr(f)
	}
	if err := n.forward(ingress); err != nil {
		return err
	}
	if err := n.open(ctx, t); err != nil {
		return err
	}
	// The path through the namespace of the load balancer on the client's node: from the node's
	// bridge to the overlay of published ports.
	ends := n.insides(ingress, "lb-"+t.label, "eth1", "eth0")
	n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop {
		return slices.Concat(ends[from.Host], t.between(from.Host, to.Host), []network.Hop{to.Hop()})
	}
	return nil
}
