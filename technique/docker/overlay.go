package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"nettoll/internal/dockerd"
	"nettoll/platform"
	"nettoll/technique"
)

// overlay is docker network create -d overlay --attachable.
func overlay(ctx context.Context, n *network) error {
	t, err := n.overlaid(ctx, nil)
	if err != nil {
		return err
	}
	mode := func(*dockerd.Host, int) dockerd.Spec { return dockerd.Spec{Mode: t.name} }
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
func (n *network) overlaid(ctx context.Context, options map[string]string) (*tunnel, error) {
	spec := dockerd.NetworkSpec{Name: "overlay", Driver: "overlay", Attachable: true, Options: map[string]string{}}
	for k, v := range options {
		spec.Options[k] = v
	}
	if platform.Borrowed(n.hosts[0]) {
		// The swarm accepts a subnet that is taken, and never makes the network work.
		n.notes = append(n.notes, "the addresses are the swarm's choice: those for benchmarking may be taken there")
		if all := n.topo.Servers + n.topo.Clients + n.topo.Neighbours; all > mostChosen {
			return nil, &platform.Unsupported{
				Feature: fmt.Sprintf("an overlay with %d containers", all), Option: fmt.Sprintf("at most %d where the swarm chooses the addresses", mostChosen),
				Remedy: "measure fewer containers, or use --private-engine",
			}
		}
	} else {
		spec.Subnet4 = dockerd.SwarmOverlay4
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
func (n *network) open(ctx context.Context, t *tunnel) error {
	if err := n.addressed(ctx); err != nil {
		return err
	}
	if err := t.find(ctx); err != nil {
		return err
	}
	return n.reached(ctx)
}

// reached waits until each client hears of its server.
func (n *network) reached(ctx context.Context) error {
	stop := func() error { return nil }
	if n.balances {
		stop = n.greet(ctx)
	}
	lost, err := n.knock(ctx)
	if err == nil && lost != nil {
		err = lost
	}
	return errors.Join(stop(), err)
}

// addressed finds each container's device on the network: containers of overlays have
// another one, by which they leave it.
func (n *network) addressed(ctx context.Context) error {
	for _, node := range append(append([]*node{}, n.servers...), n.clients...) {
		if node.container == nil {
			continue
		}
		a, err := node.own(technique.IPv4)
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
	// knockTime is how long the swarm may take to tell all nodes of all containers.
	knockTime = 10 * time.Second
	// greetTime is how long nodes may take to lead connections to a service: they write
	// several firewall rules for each port.
	greetTime = 45 * time.Second
	// closedPort is one that nobody listens on in our containers.
	closedPort = 1
	// knockers is how many clients knock at the same time.
	knockers = 16
)

// knocker is a container or a host.
type knocker interface {
	Knock(ctx context.Context, at netip.AddrPort, greeted bool, within time.Duration) (answered bool, last string, err error)
}

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

// greet has the servers of balanced services greet whoever comes through. Their nodes answer,
// too, before they know where to lead connections.
func (n *network) greet(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var greeting sync.WaitGroup
	errs := make([]error, len(n.servers))
	for i, s := range n.servers {
		greeting.Go(func() { errs[i] = s.container.Greet(ctx, n.greetingPort(s)) })
	}
	return func() error {
		cancel()
		greeting.Wait()
		return errors.Join(errs...)
	}
}

// greetingPort is one of a server's that no trial uses: these have an odd number of ports,
// and there is an even one.
func (n *network) greetingPort(server *node) int {
	_, last := n.topo.Ports(server.index)
	return last
}

// knock has each client connect to its server until that refuses. It gives the first
// pair that nothing was heard of.
func (n *network) knock(ctx context.Context) (*unheard, error) {
	lost, errs := make([]*unheard, len(n.clients)), make([]error, len(n.clients))
	var knocking sync.WaitGroup
	free := make(chan struct{}, knockers)
	for i, c := range n.clients {
		free <- struct{}{}
		knocking.Go(func() {
			defer func() { <-free }()
			lost[i], errs[i] = n.knockAt(ctx, c, n.servers[n.topo.Pair(i)])
		})
	}
	knocking.Wait()
	for i := range lost {
		if lost[i] != nil || errs[i] != nil {
			return lost[i], errs[i]
		}
	}
	return nil, nil
}

func (n *network) knockAt(ctx context.Context, from, to *node) (*unheard, error) {
	at, err := n.Addr(from, to, technique.IPv4)
	if err != nil {
		return nil, err
	}
	by, port, within := knocker(from.host), closedPort, knockTime
	if from.container != nil {
		by = from.container
	}
	if n.balances {
		port, within = n.greetingPort(to), greetTime
	}
	answered, last, err := by.Knock(ctx, netip.AddrPortFrom(at, uint16(port)), n.balances, within)
	if err != nil || answered {
		return nil, err
	}
	return &unheard{from: from, to: to, at: at, within: within, last: last}, nil
}
