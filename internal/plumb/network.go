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

// Network is a finished site.
type Network struct {
	*Site
	// Reach is where from reaches to; nil: at its own address.
	Reach func(from, to *Node, f network.Family) netip.Addr
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
	// OnWire is what the payload looks like on the underlay; see network.Wired.
	OnWire func(network.Family) string
	// Probes is how many fragments daemons send of their own; see network.Fragmenting.
	Probes uint64
}

// Servers implements network.Network.
func (n *Network) Servers() []platform.Endpoint { return endpoints(n.Site.Servers) }

// Clients implements network.Network.
func (n *Network) Clients() []platform.Endpoint { return endpoints(n.Site.Clients) }

// Daemons implements network.Daemoner.
func (n *Network) Daemons() []network.Daemon { return n.Procs }

// Remarks implements network.Remarker.
func (n *Network) Remarks() []string {
	all := slices.Clone(n.Site.Notes)
	for _, d := range n.Needed {
		all = append(all, d.Complaints()...)
	}
	return all
}

// Fault implements network.Faulter.
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

// Wire implements network.Wired.
func (n *Network) Wire(f network.Family) string {
	if n.OnWire == nil {
		return ""
	}
	return n.OnWire(f)
}

// Fragments implements network.Fragmenting.
func (n *Network) Fragments() uint64 { return n.Probes }

// Firewall is the rules of every host, as nft(8) would print them.
func (n *Network) Firewall() []string { return n.Site.Rules }

func endpoints(nodes []*Node) []platform.Endpoint {
	all := make([]platform.Endpoint, len(nodes))
	for i, n := range nodes {
		all[i] = n
	}
	return all
}

// Addr implements network.Network.
func (n *Network) Addr(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
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

// Own implements network.Network.
func (n *Network) Own(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	if b, ok := to.(*Node); ok && n.Translated {
		return b.Addr(f), nil
	}
	return n.Addr(from, to, f)
}

// Path implements network.Network.
func (n *Network) Path(from, to platform.Endpoint, f network.Family) []network.Hop {
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
