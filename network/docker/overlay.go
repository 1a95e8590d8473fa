package docker

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"nettoll/docker/engine"
	"nettoll/network"
	"nettoll/platform"
)

// overlay is docker network create -d overlay --attachable.
func overlay(ctx context.Context, n *build) error {
	t, err := n.overlaid(ctx, nil)
	if err != nil {
		return err
	}
	mode := func(*engine.Host, int) engine.Spec { return engine.Spec{Mode: t.name} }
	if err := n.run(ctx, mode, mode); err != nil {
		return err
	}
	if err := n.open(ctx, t); err != nil {
		return err
	}
	n.hops = t.path
	return nil
}

// mostChosen is how many containers fit into a subnet that the swarm chooses, which has
// 24 bits, less what the nodes take of it.
const mostChosen = 200

// overlaid makes an overlay network on the swarm's manager.
func (n *build) overlaid(ctx context.Context, options map[string]string) (*tunnel, error) {
	spec := engine.NetworkSpec{Name: "overlay", Driver: "overlay", Attachable: true, Options: map[string]string{}}
	for k, v := range options {
		spec.Options[k] = v
	}
	if n.hosts[0].Borrowed() {
		// The swarm accepts a subnet that is taken, and never makes the network work.
		n.notes = append(n.notes, "the addresses are the swarm's choice: those for benchmarking may be taken there")
		if all := n.topo.Servers + n.topo.Clients + n.topo.Neighbours; all > mostChosen {
			return nil, &platform.Unsupported{
				Feature: fmt.Sprintf("an overlay with %d containers", all), Option: fmt.Sprintf("at most %d where the swarm chooses the addresses", mostChosen),
				Remedy: "measure fewer containers, or use --private-engine",
			}
		}
	} else {
		spec.Subnet4 = engine.SwarmOverlay4
		// From which the engine takes what its headers need.
		spec.Options["com.docker.network.driver.mtu"] = strconv.Itoa(n.hosts[0].Uplink().MTU)
	}
	name, err := n.swarm.Manager.Network(ctx, spec)
	if err != nil {
		return nil, err
	}
	return n.tunnel(ctx, name, "overlay")
}

// open finds the devices of the containers and of the tunnel, and waits until all nodes
// know of all containers.
func (n *build) open(ctx context.Context, t *tunnel) error {
	if err := n.addressed(ctx); err != nil {
		return err
	}
	if err := t.find(ctx); err != nil {
		return err
	}
	return n.reached(ctx)
}

// reached waits until each client hears of its server.
func (n *build) reached(ctx context.Context) error {
	lost, err := n.meet(ctx)
	if err == nil && lost != nil {
		err = lost
	}
	return err
}

// addressed finds each container's device on the network: containers of overlays have
// another one, by which they leave it.
func (n *build) addressed(ctx context.Context) error {
	for _, node := range append(append([]*node{}, n.servers...), n.clients...) {
		if node.container == nil {
			continue
		}
		a, err := node.own(network.IPv4)
		if err != nil {
			return err
		}
		if node.device, err = node.container.Device(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

const (
	// meetTime is how long the swarm may take to tell all nodes of all containers.
	meetTime = 10 * time.Second
	// balanceTime is how long nodes may take to lead connections to a service: they write
	// several firewall rules for each port.
	balanceTime = 45 * time.Second
)

// unheard is a pair of which no packet arrives.
type unheard struct {
	from, to *node
	at       netip.Addr
	within   time.Duration
	last     string
}

func (u *unheard) Error() string {
	return fmt.Sprintf("docker: %s does not reach %s at %s within %v: %s", u.from.Name(), u.to.Name(), u.at, u.within, u.last)
}

// greetingPort is one of a server's that no trial uses: these have an odd number of ports,
// and there is an even one.
func (n *build) greetingPort(server *node) uint16 {
	_, last := n.topo.Ports(server.index)
	return uint16(last)
}

// meet waits until packets cross between each client and its server. It gives the first
// pair of which nothing was heard.
func (n *build) meet(ctx context.Context) (*unheard, error) {
	within := meetTime
	if n.balances {
		within = balanceTime
	}
	pairs, lost := make([]engine.Pair, len(n.clients)), make([]unheard, len(n.clients))
	for i, c := range n.clients {
		to := n.servers[n.topo.Pair(i)]
		at, err := n.addr(c, to, network.IPv4)
		if err != nil {
			return nil, err
		}
		own, err := n.own(c, to, network.IPv4)
		if err != nil {
			return nil, err
		}
		port := n.greetingPort(to)
		pairs[i] = engine.Pair{
			From: c.host, Container: c.container, To: to.container,
			At: netip.AddrPortFrom(at, port), Own: netip.AddrPortFrom(own, port),
		}
		lost[i] = unheard{from: c, to: to, at: at, within: within}
	}
	unmet, err := engine.Meet(ctx, pairs, within)
	if err != nil || unmet == nil {
		return nil, err
	}
	lost[unmet.Pair].last = unmet.Last
	return &lost[unmet.Pair], nil
}
