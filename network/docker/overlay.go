package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"nettoll/agent"
	"nettoll/docker/engine"
	"nettoll/internal/emulated"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/sampler"
)

// overlay is the network of docker network create -d overlay --attachable.
func overlay(ctx context.Context, n *build) error {
	t, err := n.overlaid(ctx, map[string]string{})
	if err != nil {
		return err
	}
	if err := n.run(ctx, plain(t.name), plain(t.name)); err != nil {
		return err
	}
	n.Hops = t.path
	return n.open(ctx, t)
}

// mostChosen is how many containers fit into a subnet that the swarm chooses, which is a /24,
// besides the addresses that the nodes take.
const mostChosen = 200

// overlaid makes an overlay network on the swarm's manager, with options to which it adds its own.
func (n *build) overlaid(ctx context.Context, options map[string]string) (*tunnel, error) {
	spec := engine.NetworkSpec{Name: "overlay", Driver: "overlay", Attachable: true, Options: options}
	if n.engines[0].Borrowed() {
		// The swarm accepts a subnet that is in use, but the network then never works.
		n.Notes = append(n.Notes, "the swarm chose the addresses: those for benchmarking may be in use there")
		if all := n.Topo.Servers + n.Topo.Clients + n.Topo.Neighbours; all > mostChosen {
			return nil, &platform.Unsupported{
				Feature: fmt.Sprintf("an overlay with %d containers", all), Option: fmt.Sprintf("at most %d where the swarm chooses the addresses", mostChosen),
				Remedy: "measure fewer containers, or use --private-engine",
			}
		}
	} else {
		spec.Subnet4 = engine.SwarmOverlay4
		// The engine subtracts the size of its headers.
		spec.Options["com.docker.network.driver.mtu"] = strconv.Itoa(n.engines[0].Uplink().MTU)
	}
	name, err := n.swarm.Manager.Network(ctx, spec)
	if err != nil {
		return nil, err
	}
	return n.tunnel(ctx, name, "overlay")
}

// open finds the devices of the containers and of the tunnel, and waits until all nodes know all
// containers.
func (n *build) open(ctx context.Context, t *tunnel) error {
	if err := n.addressed(ctx); err != nil {
		return err
	}
	if err := t.find(); err != nil {
		return err
	}
	lost, err := n.meet(ctx)
	if err == nil && lost != nil {
		err = lost
	}
	return err
}

// addressed finds each container's device on the network: containers of overlays have a second
// device for traffic that leaves the overlay.
func (n *build) addressed(ctx context.Context) error {
	for _, node := range n.talking() {
		c := inside(node)
		if c == nil {
			continue
		}
		if !node.Addr4.IsValid() {
			return fmt.Errorf("docker: %s has no IPv4 address", node.Name())
		}
		device, err := c.Device(ctx, node.Addr4)
		if err != nil {
			return err
		}
		node.Device, node.Link = device, plumb.Pair
	}
	return nil
}

const (
	// meetTime is how long the swarm may take to announce all containers to all nodes.
	meetTime = 20 * time.Second
	// balanceTime is how long nodes may take to lead connections to a service: they write several
	// firewall rules for each port.
	balanceTime = 45 * time.Second
)

// unheard is the error of a pair between which no packet arrives.
type unheard struct {
	from, to *plumb.Node
	at       netip.Addr
	within   time.Duration
	last     string
}

func (u *unheard) Error() string {
	return fmt.Sprintf("docker: %s does not reach %s at %s within %v: %s", u.from.Name(), u.to.Name(), u.at, u.within, u.last)
}

// meet waits until packets cross between each client and its server. If they do not, it returns the
// first such pair.
func (n *build) meet(ctx context.Context) (lost *unheard, err error) {
	within := meetTime
	if n.balances {
		within = balanceTime
	}
	within = emulated.Patience(within)
	agents := map[*plumb.Host]*agent.Client{} // for clients that are hosts
	defer func() {
		for _, a := range agents {
			err = errors.Join(err, a.Close())
		}
	}()
	made, pairs := n.Standing(), make([]sampler.Pair, len(n.Clients))
	for i, c := range n.Clients {
		k := n.Topo.Pair(i)
		to := n.Servers[k]
		at, err := made.Addr(c, to, network.IPv4)
		if err != nil {
			return nil, err
		}
		own, err := made.Own(c, to, network.IPv4)
		if err != nil {
			return nil, err
		}
		// No trial uses the last port: trials use an odd number of ports, and there is an even
		// number.
		_, port := n.Topo.Ports(k)
		pairs[i] = sampler.Pair{Server: inside(to), At: netip.AddrPortFrom(at, uint16(port)), Own: netip.AddrPortFrom(own, uint16(port))}
		if box := inside(c); box != nil {
			pairs[i].Client = box
			continue
		}
		if agents[c.Host] == nil {
			a, err := agent.Start(ctx, n.engines[c.Host.Index])
			if err != nil {
				return nil, err
			}
			agents[c.Host] = a
		}
		pairs[i].Client = agents[c.Host]
	}
	unmet, err := sampler.Meet(ctx, pairs, within)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	if unmet == nil {
		return nil, nil
	}
	i := unmet.Pair
	return &unheard{from: n.Clients[i], to: n.Servers[n.Topo.Pair(i)], at: pairs[i].At.Addr(), within: within, last: unmet.Last}, nil
}
