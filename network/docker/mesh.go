package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/docker/engine"
	"nettoll/network"
	"nettoll/platform"
)

// ingressUnderlay is the MTU that Swarm takes the underlay for where it makes the network
// of published ports, in bytes.
const ingressUnderlay = 1500

// ingress is the namespace of a node's load balancer for published ports.
const ingress = "ingress_sbox"

// mesh is docker service create --publish: clients are processes of nodes and know the
// address of their own node alone. Swarm publishes on all addresses of all nodes, so
// that on machines of the user anyone could come in.
func mesh(ctx context.Context, n *build) error {
	if n.hosts[0].Borrowed() {
		return &platform.Unsupported{
			Feature: "the routing mesh", Option: "nodes that nobody else reaches: Swarm publishes ports on all addresses of all nodes",
			Remedy: "--private-engine starts engines on hosts of the lab",
		}
	}
	if err := n.balanced(ctx, routingMesh); err != nil {
		return err
	}
	switch mtu := n.hosts[0].Uplink().MTU; {
	case mtu < ingressUnderlay:
		return &platform.Unsupported{
			Feature: fmt.Sprintf("the routing mesh over an underlay with the MTU %d", mtu), Option: fmt.Sprintf("at least %d", ingressUnderlay),
			Remedy: "leave the MTU as it is", Err: errors.New("Swarm makes the network of published ports for that"),
		}
	case mtu > ingressUnderlay:
		n.notes = append(n.notes, fmt.Sprintf("Swarm makes the network of published ports for an underlay with the MTU %d, and this one has %d", ingressUnderlay, mtu))
	}
	n.balances = true
	n.clients = n.outside(n.topo.Clients, n.clientHost)
	if err := n.silent(ctx); err != nil {
		return err
	}
	_, err := n.serve(ctx, func(i int) engine.ServiceSpec {
		first, last := n.topo.Ports(i)
		return engine.ServiceSpec{Network: engine.Ingress, VIP: true, Publish: [2]int{first, last}}
	})
	if err != nil {
		return err
	}
	t, err := n.tunnel(ctx, engine.Ingress, engine.Ingress)
	if err != nil {
		return err
	}
	n.nat = true
	n.reach = func(from, to *node, f network.Family) (netip.Addr, error) {
		if to.container == nil {
			return hostAddr(to.host, f), nil
		}
		return hostAddr(from.host, f), nil
	}
	if err := n.forward(ingress); err != nil {
		return err
	}
	if err := n.open(ctx, t); err != nil {
		return err
	}
	return n.meshed(t)
}

// meshed is the path through the namespace in which the client's node has its load
// balancer: from the node's bridge to the overlay of published ports.
func (n *build) meshed(t *tunnel) error {
	ends, err := n.insides(ingress, "lb-"+t.label, "eth1", "eth0")
	if err != nil {
		return err
	}
	n.hops = func(from, to *node, _ network.Family) []network.Hop {
		return slices.Concat(ends[from.host], t.between(from.host, to.host), []network.Hop{to.hop()})
	}
	return nil
}
