package kernel

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// Veth returns the driver of a veth pair between each client and its server, with nothing in
// between. Each client has its own pair, so that a server has as many devices as clients.
func Veth() network.Driver {
	return pairs("veth", "a veth pair straight between two containers, nothing in between", plumb.Veth, (*nl.NS).AddPair)
}

// adder makes a pair of devices as nl.AddPair does.
type adder func(n *nl.NS, name, peerPath, peer string, mtu int) error

// pairs returns the driver of pairs of devices of some kind.
func pairs(kind, about string, need plumb.Need, add adder) network.Driver {
	return plumb.Recipe{
		Info:  network.Info{Name: kind, Hosts: []int{1}, About: about},
		Needs: []plumb.Need{need},
		Build: func(ctx context.Context, n *plumb.Network) error {
			at := make(map[*plumb.Node]end)
			for i, client := range n.Clients {
				e := end{device: fmt.Sprintf("eth%d", i/n.Topo.Servers), server: n.Servers[n.Topo.Pair(i)], client: i}
				client.Link = kind
				if err := pair(ctx, n.Site, client, e, add); err != nil {
					return fmt.Errorf("%s: join %s and %s: %w", kind, client.Name(), e.server.Name(), err)
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
				near, far := from.Hop(), plumb.DeviceHop(to.Name(), to.NS, at[from].device)
				near.Meets, far.Meets, far.Link = far.Name, near.Name, near.Link
				return []network.Hop{near, far}
			}
			return nil
		},
	}.Driver()
}

// end is the server's end of a client's pair.
type end struct {
	server *plumb.Node
	device string // name in the server
	client int
}

// A pair has two adjacent addresses of the first host in the address plan: the odd one is the
// client's.
func clientAddr(i int, six bool) netip.Addr { return plumb.ContainerAddr(0, 2*i+1, six) }
func serverAddr(i int, six bool) netip.Addr { return plumb.ContainerAddr(0, 2*i, six) }

func pair(ctx context.Context, s *plumb.Site, client *plumb.Node, e end, add adder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.MadeDevice(client.NS, client.Device)
	err := nl.With(client.NS, func(n *nl.NS) error { return add(n, client.Device, e.server.NS, e.device, s.Topo.Underlay.MTU) })
	if err != nil {
		return err
	}
	if err := configure(client.NS, client.Device, e.client, clientAddr); err != nil {
		return err
	}
	return configure(e.server.NS, e.device, e.client, serverAddr)
}

// configure gives one end its addresses, with prefixes that hold just the pair.
func configure(ns, device string, client int, addr func(client int, six bool) netip.Addr) error {
	return nl.With(ns, func(n *nl.NS) error {
		four, six := addr(client, false), addr(client, true)
		return n.UpAs(device, netip.PrefixFrom(four, four.BitLen()-1), netip.PrefixFrom(six, six.BitLen()-1))
	})
}
