package plumb

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/internal/daemon"
	"nettoll/network"
	"nettoll/platform"
)

// Recipe is a kind of network that is built on a site.
type Recipe struct {
	network.Info
	Needs []Need                      // of the kernel
	Have  func(context.Context) error // looks for what else it needs, such as programs; nil: nothing
	// Try is called where all that is there, and tries what cannot be known otherwise; nil: nothing.
	Try func(context.Context, platform.Platform) error
	// Begin makes the site; nil is Begin.
	Begin func(context.Context, network.Topology, platform.Platform) (*Site, error)
	// Build connects the containers of the site. What was made is taken down when it fails.
	Build func(context.Context, *Network) error
}

// Driver makes a driver of the recipe.
func (r Recipe) Driver() network.Driver {
	if r.Begin == nil {
		r.Begin = Begin
	}
	return network.Driver{Info: r.Info, Probe: r.probe, Connect: r.connect}
}

func (r Recipe) probe(ctx context.Context, p platform.Platform) error {
	if r.Have != nil {
		if err := r.Have(ctx); err != nil {
			return err
		}
	}
	if err := Check(ctx, r.Needs...); err != nil || r.Try == nil {
		return err
	}
	return r.Try(ctx, p)
}

func (r Recipe) connect(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
	s, err := r.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	n := &Network{Site: s}
	if err := r.Build(ctx, n); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return n.Standing(), nil
}

// Network is a site with what connects its containers.
type Network struct {
	*Site
	// Reach is where from reaches to; nil: at its own address.
	Reach func(from, to *Node, f network.Family) netip.Addr
	// Refuse says why from does not reach to at an address; nil: it does.
	Refuse func(from, to *Node, f network.Family, at netip.Addr) error
	// Translated: packets to a container arrive at its own address, wherever they were sent.
	Translated bool
	// Hops are the path between two nodes.
	Hops func(from, to *Node, f network.Family) []network.Hop
	// Procs carry the payload in user space.
	Procs []network.Daemon
	// Needed must run as long as the network is to work, whether they carry payload or not.
	Needed []*daemon.Daemon
	// Check looks for what is wrong with a network that is up; nil: nothing is known to go wrong.
	Check func(context.Context) error
	// OnWire, Fragments and MadeUp are those of network.Network.
	OnWire    func(network.Family) string
	Fragments uint64
	MadeUp    func() []string
}

// Carry notes that a daemon carries the payload.
func (n *Network) Carry(d *daemon.Daemon) {
	n.Procs = append(n.Procs, network.Daemon{Name: d.String(), Host: d.OnHost(), PID: d.PID()})
}

// Standing is the network as others see it.
func (n *Network) Standing() *network.Network {
	hosts := make([]platform.Host, len(n.Hosts))
	for i, h := range n.Hosts {
		hosts[i] = h.Host
	}
	return &network.Network{
		Servers: endpoints(n.Servers), Clients: endpoints(n.Clients), Hosts: hosts,
		Addr: n.addr, Own: n.own, Path: n.path, Close: n.Close,
		Daemons: n.Procs, Fault: n.fault, Wire: n.OnWire, Fragments: n.Fragments, Remarks: n.remarks,
		Page: network.Page{Firewall: n.Rules, MadeUp: n.MadeUp},
	}
}

func (n *Network) remarks() []string {
	all := slices.Clone(n.Notes)
	for _, d := range n.Needed {
		all = append(all, d.Complaints()...)
	}
	return all
}

func (n *Network) fault(ctx context.Context) error {
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

func endpoints(nodes []*Node) []platform.Endpoint {
	all := make([]platform.Endpoint, len(nodes))
	for i, n := range nodes {
		all[i] = n
	}
	return all
}

func (n *Network) addr(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	a, aok := from.(*Node)
	b, bok := to.(*Node)
	if !aok || !bok {
		return netip.Addr{}, fmt.Errorf("%s or %s is not part of this network", from.Name(), to.Name())
	}
	at := b.Addr(f)
	if n.Reach != nil {
		at = n.Reach(a, b, f)
	}
	if n.Refuse != nil {
		return at, n.Refuse(a, b, f, at)
	}
	return at, nil
}

func (n *Network) own(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	if b, ok := to.(*Node); ok && n.Translated {
		return b.Addr(f), nil
	}
	return n.addr(from, to, f)
}

func (n *Network) path(from, to platform.Endpoint, f network.Family) []network.Hop {
	a, aok := from.(*Node)
	b, bok := to.(*Node)
	if !aok || !bok {
		return nil
	}
	return n.Hops(a, b, f)
}
