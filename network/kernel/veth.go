package kernel

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// Veth is a veth pair between each client and its server, with nothing in between: client i has a
// pair of its own, so that a server has as many devices as clients.
func Veth() network.Driver {
	return plumb.Recipe{
		Info:  network.Info{Name: "veth", Hosts: []int{1}, About: "a veth pair straight between two containers, nothing in between"},
		Needs: []plumb.Need{plumb.Veth},
		Build: func(ctx context.Context, n *plumb.Network) error {
			at := make(map[*plumb.Node]end)
			for i, client := range n.Clients {
				e := end{device: fmt.Sprintf("eth%d", i/n.Topo.Servers), server: n.Servers[n.Topo.Pair(i)], client: i}
				if err := pair(ctx, n.Site, client, e); err != nil {
					return fmt.Errorf("veth: join %s and %s: %w", client.Name(), e.server.Name(), err)
				}
				at[client] = e
			}
			n.Reach = func(from, to *plumb.Node, f network.Family) netip.Addr {
				if e, ok := at[to]; ok {
					return clientAddr(e.client, f == network.IPv6)
				}
				return serverAddr(at[from].client, f == network.IPv6)
			}
			n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop {
				return []network.Hop{from.Hop(), plumb.DeviceHop(to.Name(), to.NS, at[from].device)}
			}
			return nil
		},
	}.Driver()
}

// end is where a client's pair ends.
type end struct {
	server *plumb.Node
	device string // in the server
	client int
}

// A pair has two neighbouring addresses of the first host's plan: the odd one is
// the client's.
func clientAddr(i int, six bool) netip.Addr { return plumb.ContainerAddr(0, 2*i+1, six) }
func serverAddr(i int, six bool) netip.Addr { return plumb.ContainerAddr(0, 2*i, six) }

func pair(ctx context.Context, s *plumb.Site, client *plumb.Node, e end) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Made("veth of "+client.Name(), func(context.Context) error {
		return nl.With(client.NS, func(n *nl.NS) error { return n.Remove(client.Device) })
	})
	err := nl.With(client.NS, func(n *nl.NS) error { return n.AddPair(client.Device, e.server.NS, e.device, s.Topo.Underlay.MTU) })
	if err != nil {
		return err
	}
	if err := configure(client.NS, client.Device, func(six bool) netip.Addr { return clientAddr(e.client, six) }); err != nil {
		return err
	}
	return configure(e.server.NS, e.device, func(six bool) netip.Addr { return serverAddr(e.client, six) })
}

// configure gives one end its addresses, with prefixes that hold just the pair.
func configure(ns, device string, addr func(six bool) netip.Addr) error {
	return nl.With(ns, func(n *nl.NS) error {
		if err := n.Up(device); err != nil {
			return err
		}
		for _, six := range []bool{false, true} {
			a := addr(six)
			if err := n.Addr(device, netip.PrefixFrom(a, a.BitLen()-1)); err != nil {
				return err
			}
		}
		return nil
	})
}
