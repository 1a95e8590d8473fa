package plumb

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"nettoll/internal/daemon"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// Recipe is a kind of network that is built on a site.
type Recipe struct {
	network.Info
	Needs []Need                      // features of the kernel
	Have  func(context.Context) error // checks for further requirements, except programs; nil: none
	// Programs are the programs that it runs. Paths has the locations of those that are not in PATH.
	Programs []daemon.Program
	Paths    program.Paths
	// Try is called if all requirements are met, and tries what cannot be known otherwise; nil: nothing.
	Try func(context.Context, platform.Platform) error
	// Begin makes the site; nil means the function Begin.
	Begin func(context.Context, network.Topology, platform.Platform) (*Site, error)
	// Build connects the containers of the site. If it fails, everything that was made is removed.
	Build func(context.Context, *Network) error
}

// Driver returns a driver of the recipe.
func (r Recipe) Driver() network.Driver {
	return network.Driver{Info: r.Info, Probe: r.probe, Connect: r.connect}
}

func (r Recipe) probe(ctx context.Context, p platform.Platform) error {
	if r.Have != nil {
		if err := r.Have(ctx); err != nil {
			return err
		}
	}
	if _, err := daemon.Find(r.Paths, r.Programs...); err != nil {
		return err
	}
	if err := Check(ctx, r.Needs...); err != nil || r.Try == nil {
		return err
	}
	return r.Try(ctx, p)
}

// Lay makes the site that Build connects, and finds the programs.
func (r Recipe) Lay(ctx context.Context, topo network.Topology, p platform.Platform) (*Network, error) {
	found, err := daemon.Find(r.Paths, r.Programs...)
	if err != nil {
		return nil, err
	}
	begin := Begin
	if r.Begin != nil {
		begin = r.Begin
	}
	s, err := begin(ctx, topo, p)
	return &Network{Site: s, Programs: found}, err
}

func (r Recipe) connect(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
	n, err := r.Lay(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	err = r.Build(ctx, n)
	if err == nil {
		err = n.Settle(ctx)
	}
	if err != nil {
		return nil, n.Abandon(ctx, err)
	}
	return n.Standing(), nil
}

// Network is a site together with what connects its containers.
type Network struct {
	*Site
	Programs map[string]string // paths of the recipe's programs, by name
	// Reach returns the address at which from reaches to; nil: to's own address.
	Reach func(from, to *Node, f network.Family) netip.Addr
	// Refuse returns why from does not reach to at an address; nil: it always does.
	Refuse func(from, to *Node, f network.Family, at netip.Addr) error
	// Translated means that packets to a container arrive at its own address, even if they were sent
	// to another one.
	Translated bool
	// Hops returns the path between two nodes.
	Hops func(from, to *Node, f network.Family) []network.Hop
	// Procs are the daemons that carry the payload in user space.
	Procs []network.Daemon
	// Needed are the daemons without which the network does not work, whether they carry payload or not.
	Needed []*daemon.Daemon
	// Check looks for faults of a network that is up; nil: no fault is known to happen.
	Check func(context.Context) error
	// Relay, OnWire, Fragments, InForce and MadeUp become the fields Relay, Wire, Fragments, InForce and Page.MadeUp of network.Network.
	// Adds is how many bytes a program, or the kernel without a device, adds to each packet between hosts; devices of tunnels add
	// network.Overheads.
	Adds      int
	Relay     func(ctx context.Context, congestion string) error
	OnWire    func(network.Family) string
	Fragments uint64
	InForce   record.InForce
	narrow    map[network.Family][]string // notes of Narrow
	MadeUp    func() []string
}

// ServersAt sets Reach for networks whose clients dial other addresses than the servers' own.
func (n *Network) ServersAt(reach func(from, to *Node, f network.Family) netip.Addr) {
	n.Reach = func(from, to *Node, f network.Family) netip.Addr {
		if slices.Contains(n.Servers, to) {
			return reach(from, to, f)
		}
		return to.Addr(f)
	}
}

// Watch adds daemons that the network needs. carry means that they carry the payload.
func (n *Network) Watch(carry bool, daemons ...*daemon.Daemon) {
	n.Needed = append(n.Needed, daemons...)
	if carry {
		n.Procs = append(n.Procs, record.Each(daemons, func(d *daemon.Daemon) network.Daemon {
			return network.Daemon{Name: d.String(), Host: d.OnHost(), PID: d.PID()}
		})...)
	}
}

// Standing returns the network as others see it.
func (n *Network) Standing() *network.Network {
	hosts := record.Each(n.Hosts, func(h *Host) platform.Host { return h.Host })
	return &network.Network{
		Servers: endpoints(n.Servers), Clients: endpoints(n.Clients), Hosts: hosts,
		Addr: n.addr, Own: n.own, Path: n.path, Close: n.Close,
		Daemons: n.Procs, Fault: n.fault, Relay: n.Relay, Wire: n.OnWire, Fragments: n.Fragments, InForce: n.InForce, Remarks: n.remarks, Unproved: n.Unproved,
		Page: network.Page{MadeUp: n.MadeUp},
	}
}

func (n *Network) remarks(f network.Family) []string {
	all := slices.Concat(n.Notes, n.narrow[f])
	for _, d := range n.Needed {
		all = append(all, d.Complaints()...)
	}
	return all
}

func (n *Network) fault(ctx context.Context) error {
	if err := record.Try(n.Needed, (*daemon.Daemon).Fault); err != nil || n.Check == nil {
		return err
	}
	return n.Check(ctx)
}

func endpoints(nodes []*Node) []platform.Endpoint {
	return record.Each(nodes, func(n *Node) platform.Endpoint { return n })
}

// nodes returns two endpoints of the network as nodes.
func nodes(from, to platform.Endpoint) (a, b *Node, err error) {
	a, aok := from.(*Node)
	b, bok := to.(*Node)
	if !aok || !bok {
		err = fmt.Errorf("%s or %s is not part of this network", from.Name(), to.Name())
	}
	return a, b, err
}

func (n *Network) addr(from, to platform.Endpoint, f network.Family) (at netip.Addr, err error) {
	a, b, err := nodes(from, to)
	if err != nil {
		return at, err
	}
	at = b.Addr(f)
	if n.Reach != nil {
		at = n.Reach(a, b, f)
	}
	if n.Refuse != nil {
		return at, n.Refuse(a, b, f, at)
	}
	return at, nil
}

func (n *Network) own(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	at, err := n.addr(from, to, f)
	if b, ok := to.(*Node); ok && n.Translated {
		at = b.Addr(f)
	}
	return at, err
}

func (n *Network) path(from, to platform.Endpoint, f network.Family) []network.Hop {
	a, b, err := nodes(from, to)
	if err != nil {
		return nil
	}
	hops := n.Hops(a, b, f)
	adds := n.Adds
	for _, h := range hops {
		adds = max(adds, network.Overheads[h.Link])
	}
	for i, h := range hops {
		if up := h.Name == a.Host.UplinkHop().Name || h.Name == b.Host.UplinkHop().Name; up && !h.Absent {
			hops[i].Adds = adds
		}
	}
	return hops
}
