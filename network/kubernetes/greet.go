package kubernetes

import (
	"context"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/sampler"
)

// unanswered is a greeting that got no answer.
type unanswered struct {
	half bool // there was an answer over one of the protocols, UDP or TCP
	text string
}

// greet has a client on each of the clients' nodes greet its server over an IP version. It returns nil if all got an answer
// in time.
func (n *build) greet(ctx context.Context, f network.Family, within time.Duration) (*unanswered, error) {
	return n.meet(ctx, sampler.Meet, within, n.greeting(f, beforeTrials)...)
}

// Before trials, greetings go to the first port of a server or, those of the runner, to its last one; after them to one that only
// trials have used. Where several programs serve a cluster's services, such as Cilium and kube-proxy, the first to know a service may
// have translated the earlier greetings, and another one all that came later.
func beforeTrials(p kube.Ports) int    { return p.First }
func ofTrials(p kube.Ports) kube.Ports { return kube.Ports{First: p.First + 1, Last: p.Last - 1} }
func afterTrials(p kube.Ports) int     { return ofTrials(p).First }

// greeting returns a client on each of the clients' nodes with its server, at one of the server's ports.
func (n *build) greeting(f network.Family, at func(kube.Ports) int) (pairs []sampler.Pair) {
	for i, client := range n.Clients[:min(len(n.Clients), max(1, len(n.Hosts)-1))] {
		place := n.Topo.Pair(i)
		server := n.Servers[place]
		port, to := at(n.portsOf(place)), n.dials(client, server, f)
		own := to // such as lo, if they share a pod
		if n.Translated {
			own = server.Addr(f)
		}
		pairs = append(pairs, sampler.Pair{
			Client: n.containers[client], Server: n.containers[server],
			At: netip.AddrPortFrom(to, uint16(port)), Own: netip.AddrPortFrom(own, uint16(port)),
		})
	}
	return pairs
}

// greetOver greets over several IP versions at once. It returns those that got no answer.
func (n *build) greetOver(ctx context.Context, families []network.Family, within time.Duration) (map[network.Family]*unanswered, error) {
	seen := make([]*unanswered, len(families))
	greeting, inTime := errgroup.WithContext(ctx)
	for i, f := range families {
		greeting.Go(func() (err error) { seen[i], err = n.greet(inTime, f, within); return err })
	}
	if err := greeting.Wait(); err != nil {
		return nil, err
	}
	all := map[network.Family]*unanswered{}
	for i, f := range families {
		if seen[i] != nil {
			all[f] = seen[i]
		}
	}
	return all, nil
}

// dials returns the address at which a client reaches a server.
func (n *build) dials(client, server *plumb.Node, f network.Family) netip.Addr {
	if n.Reach == nil {
		return server.Addr(f)
	}
	return n.Reach(client, server, f)
}

// dialled returns the IP versions of which the first pair has addresses, and which the network does not refuse.
func (n *build) dialled() (all []network.Family) {
	client, server := n.Clients[0], n.Servers[0]
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		at := n.dials(client, server, f)
		if server.Addr(f).IsValid() && at.IsValid() && (n.Refuse == nil || n.Refuse(client, server, f, at) == nil) {
			all = append(all, f)
		}
	}
	return all
}
