// Package plumb holds the building blocks that techniques are put together
// from: containers in their places, addresses, bridges with ports, Docker's
// firewall rules, and the hops that prove a path. It works on every platform
// whose endpoints show their network namespace.
package plumb

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/internal/daemon"
	"nettoll/internal/undo"
	"nettoll/platform"
	"nettoll/technique"
)

// Site is a network under construction: hosts, and the containers on them.
type Site struct {
	undo.Stack
	Topo       technique.Topology
	Hosts      []*Host
	Servers    []*Node  // on the first host
	Clients    []*Node  // on the others, in turn
	Neighbours []*Node  // there too; they do not talk
	Notes      []string // what is worth knowing of how it was built
	Rules      []string // firewall tables, as text, for documentation

	transient bool // what is made on the hosts goes with them
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

// Host is a host of the site.
type Host struct {
	platform.Host
	NS    string
	Index int
	Nodes []*Node // containers on it
}

// NetNS implements platform.NetNSer.
func (h *Host) NetNS() string { return h.NS }

// Uplink4 and Uplink6 are the host's addresses on the underlay.
func (h *Host) addr(six bool) netip.Addr {
	if six {
		return h.Uplink().Addr6.Addr()
	}
	return h.Uplink().Addr4.Addr()
}

// Node is an endpoint of the site.
type Node struct {
	platform.Endpoint
	NS     string
	Host   *Host
	Index  int    // among the containers of its host, from 0
	Device string // inside, that carries the payload
	Addr4  netip.Addr
	Addr6  netip.Addr
	Port   string // the other end of Device, on the host, where there is one
}

// Unwrap implements platform.Wrapper.
func (n *Node) Unwrap() platform.Endpoint { return n.Endpoint }

// NetNS implements platform.NetNSer.
func (n *Node) NetNS() string { return n.NS }

// Addr is the node's address of a family.
func (n *Node) Addr(f technique.Family) netip.Addr {
	if f == technique.IPv6 {
		return n.Addr6
	}
	return n.Addr4
}

// Begin asks the platform for hosts and puts the topology's containers on them.
func Begin(ctx context.Context, topo technique.Topology, p platform.Platform) (*Site, error) {
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
func BeginHosts(ctx context.Context, topo technique.Topology, p platform.Platform) (*Site, error) {
	hosts, err := p.Hosts(ctx, platform.HostRequest{Count: topo.Hosts, Underlay: topo.Underlay, Rules: topo.Rules})
	if err != nil {
		return nil, err
	}
	s := &Site{Topo: topo}
	if t, ok := hosts.(platform.Transient); ok {
		s.transient = t.Transient()
	}
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
	n := &Node{Endpoint: e, NS: ns, Host: h, Index: len(h.Nodes), Device: "eth0"}
	n.Addr4, n.Addr6 = ContainerAddr(h.Index, n.Index, false), ContainerAddr(h.Index, n.Index, true)
	h.Nodes = append(h.Nodes, n)
	return n, nil
}

// OnHost makes a node of the host itself, at its underlay address.
func (s *Site) OnHost(h *Host) *Node {
	return &Node{
		Endpoint: h.Host, NS: h.NS, Host: h, Device: h.Uplink().Device,
		Addr4: h.addr(false), Addr6: h.addr(true),
	}
}

func namespace(e platform.Endpoint) (string, error) {
	ns, ok := e.(platform.NetNSer)
	if ok && ns.NetNS() != "" {
		return ns.NetNS(), nil
	}
	return "", &platform.Unsupported{
		Feature: "plumbing of " + e.Name(), Option: "a platform that shows network namespaces, and root",
		Remedy: "run as root on the machine itself, or measure this technique in the lab",
	}
}

// ours refuses to change a host that is the user's own machine.
func (h *Host) ours() error {
	if !platform.Borrowed(h.Host) {
		return nil
	}
	return &platform.Unsupported{
		Feature: "changing the network of this machine", Option: "a host that was made for it",
		Remedy: "--private-engine starts an engine on a host of the lab; or measure this technique in the lab itself",
	}
}

// Network is a finished site.
type Network struct {
	*Site
	// Reach is where from reaches to; nil: at its own address.
	Reach func(from, to *Node, f technique.Family) netip.Addr
	// Hops are the path between two nodes.
	Hops func(from, to *Node, f technique.Family) []technique.Hop
	// Procs carry the payload in user space.
	Procs []platform.Process
	// Needed must run as long as the network is to work, whether they carry payload or not.
	Needed []*daemon.Daemon
	// Check looks for what is wrong with a network that is up; nil: nothing is known to go wrong.
	Check func(context.Context) error
	// OnWire is what the payload looks like on the underlay; see technique.Wired.
	OnWire func(technique.Family) string
}

// Servers implements technique.Network.
func (n *Network) Servers() []platform.Endpoint { return endpoints(n.Site.Servers) }

// Clients implements technique.Network.
func (n *Network) Clients() []platform.Endpoint { return endpoints(n.Site.Clients) }

// Daemons implements technique.Daemoner.
func (n *Network) Daemons() []platform.Process { return n.Procs }

// Remarks implements technique.Remarker.
func (n *Network) Remarks() []string {
	all := slices.Clone(n.Site.Notes)
	for _, d := range n.Needed {
		all = append(all, d.Complaints()...)
	}
	return all
}

// Fault implements technique.Faulter.
func (n *Network) Fault(ctx context.Context) error {
	for _, d := range n.Needed {
		if err := d.Fault(); err != nil {
			return err
		}
	}
	if n.Check == nil {
		return nil
	}
	return n.Check(ctx)
}

// Wire implements technique.Wired.
func (n *Network) Wire(f technique.Family) string {
	if n.OnWire == nil {
		return ""
	}
	return n.OnWire(f)
}

// Firewall is the rules of every host, as nft(8) would print them.
func (n *Network) Firewall() []string { return n.Site.Rules }

func endpoints(nodes []*Node) []platform.Endpoint {
	all := make([]platform.Endpoint, len(nodes))
	for i, n := range nodes {
		all[i] = n
	}
	return all
}

// Addr implements technique.Network.
func (n *Network) Addr(from, to platform.Endpoint, f technique.Family) (netip.Addr, error) {
	a, aok := from.(*Node)
	b, bok := to.(*Node)
	if !aok || !bok {
		return netip.Addr{}, fmt.Errorf("%s or %s is not part of this network", from.Name(), to.Name())
	}
	if n.Reach != nil {
		return n.Reach(a, b, f), nil
	}
	return b.Addr(f), nil
}

// Path implements technique.Network.
func (n *Network) Path(from, to platform.Endpoint, f technique.Family) []technique.Hop {
	a, aok := from.(*Node)
	b, bok := to.(*Node)
	if !aok || !bok {
		return nil
	}
	return n.Hops(a, b, f)
}

// Machines are the hosts, in order.
func (n *Network) Machines() []platform.Host {
	all := make([]platform.Host, len(n.Site.Hosts))
	for i, h := range n.Site.Hosts {
		all[i] = h.Host
	}
	return all
}
