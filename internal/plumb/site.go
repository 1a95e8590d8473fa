// Package plumb holds the building blocks that networks are put together
// from: containers in their places, addresses, bridges with ports, Docker's
// firewall rules, and the hops that prove a path. It works on every platform
// whose endpoints show their network namespace.
package plumb

import (
	"context"
	"fmt"

	"nettoll/internal/nl"
	"nettoll/internal/undo"
	"nettoll/network"
	"nettoll/platform"
)

// Site is a network under construction: hosts, and the containers on them.
type Site struct {
	undo.Stack
	Topo       network.Topology
	Hosts      []*Host
	Servers    []*Node  // on the first host
	Clients    []*Node  // on the others, in turn
	Neighbours []*Node  // there too; they do not talk
	Notes      []string // what is worth knowing of how it was built
	Rules      []string // firewall tables, as text, for documentation

	transient bool // what is made on the hosts goes with them
	spare     int  // addresses of the spare block that are taken
	without6  bool // containers on bridges have no IPv6: there is no room for its packets
}

// Made pushes the removal of something that was made on a host or in a container.
// Where the hosts were made for this network, all of it goes with them at once,
// and nothing is removed one by one. What would outlive the hosts is to be given
// to Push.
func (s *Site) Made(what string, remove func(context.Context) error) {
	if !s.transient {
		s.Push(what, remove)
	}
}

// MadeDevice pushes the removal of a device from the namespace at path.
func (s *Site) MadeDevice(path, device string) {
	s.Made("device "+device, func(context.Context) error {
		return nl.With(path, func(n *nl.NS) error { return n.Remove(device) })
	})
}

// Nodes are all containers of the site, host by host.
func (s *Site) Nodes() []*Node {
	var all []*Node
	for _, h := range s.Hosts {
		all = append(all, h.Nodes...)
	}
	return all
}

// Begin asks the platform for hosts and puts the topology's containers on them.
func Begin(ctx context.Context, topo network.Topology, p platform.Platform) (*Site, error) {
	s, err := BeginHosts(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	if s.Servers, err = s.Place(ctx, s.Hosts[0], topo.Servers); err == nil {
		if s.Clients, err = s.spread(ctx, topo.Clients); err == nil {
			s.Neighbours, err = s.spread(ctx, topo.Neighbours)
		}
	}
	if err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return s, nil
}

// BeginHosts asks the platform for hosts alone.
func BeginHosts(ctx context.Context, topo network.Topology, p platform.Platform) (*Site, error) {
	hosts, err := p.Hosts(ctx, platform.HostRequest{Count: topo.Hosts, Underlay: topo.Underlay, Rules: topo.Rules})
	if err != nil {
		return nil, err
	}
	s := &Site{Topo: topo, transient: hosts.Transient()}
	s.Push("hosts", hosts.Close)
	for i, h := range hosts.All() {
		ns, err := namespace(h)
		if err != nil {
			return nil, s.Abandon(ctx, err)
		}
		host := &Host{Host: h, NS: ns, Index: i}
		if err := s.keepParameters(host); err != nil {
			return nil, s.Abandon(ctx, err)
		}
		s.Hosts = append(s.Hosts, host)
	}
	return s, nil
}

// Place makes n containers on a host.
func (s *Site) Place(ctx context.Context, h *Host, n int) ([]*Node, error) {
	endpoints, err := h.Containers(ctx, n)
	if err != nil {
		return nil, err
	}
	nodes := make([]*Node, 0, n)
	for _, e := range endpoints {
		node, err := s.Adopt(h, e)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// ClientHost is where client i lives: on the hosts behind the first in turn, or with
// the servers where there is one host.
func (s *Site) ClientHost(i int) *Host {
	if len(s.Hosts) == 1 {
		return s.Hosts[0]
	}
	return s.Hosts[1+i%(len(s.Hosts)-1)]
}

// spread makes n containers on the clients' hosts.
func (s *Site) spread(ctx context.Context, n int) ([]*Node, error) {
	wanted := map[*Host]int{}
	for i := range n {
		wanted[s.ClientHost(i)]++
	}
	made := map[*Host][]*Node{}
	for _, h := range s.Hosts {
		var err error
		if made[h], err = s.Place(ctx, h, wanted[h]); err != nil {
			return nil, err
		}
	}
	nodes := make([]*Node, n)
	for i := range nodes {
		h := s.ClientHost(i)
		nodes[i], made[h] = made[h][0], made[h][1:]
	}
	return nodes, nil
}

// Adopt makes an endpoint on a host a node of the site.
func (s *Site) Adopt(h *Host, e platform.Endpoint) (*Node, error) {
	ns, err := namespace(e)
	if err != nil {
		return nil, err
	}
	n := &Node{Endpoint: e, NS: ns, Host: h, Index: len(h.Nodes), Device: "eth0", block: h.Index}
	k := n.Index
	if k >= MaxContainers {
		n.block, k = spareBlock, s.spare
		if s.spare++; s.spare > MaxContainers {
			return nil, fmt.Errorf("%s: there is no address for so many containers", n.Name())
		}
	}
	n.Addr4, n.Addr6 = ContainerAddr(n.block, k, false), ContainerAddr(n.block, k, true)
	h.Nodes = append(h.Nodes, n)
	return n, nil
}

// OnHosts makes the topology's servers and clients of the hosts themselves.
func (s *Site) OnHosts() {
	for range s.Topo.Servers {
		s.Servers = append(s.Servers, s.OnHost(s.Hosts[0]))
	}
	s.ClientsOnHosts()
}

// ClientsOnHosts makes the topology's clients of the hosts themselves.
func (s *Site) ClientsOnHosts() {
	for i := range s.Topo.Clients {
		s.Clients = append(s.Clients, s.OnHost(s.ClientHost(i)))
	}
}

// OnHost makes a node of the host itself, at its underlay address.
func (s *Site) OnHost(h *Host) *Node {
	return &Node{
		Endpoint: h.Host, NS: h.NS, Host: h, Device: h.Uplink().Device,
		Addr4: h.addr(false), Addr6: h.addr(true),
	}
}
