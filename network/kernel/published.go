package kernel

import (
	"context"
	"net/netip"
	"slices"

	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// Published returns the driver of a port that a host publishes for a container behind Docker's
// bridge, by DNAT. The client is outside: a process of the same host, or of the other one.
func Published() network.Driver {
	return forwarded(false, network.Info{
		Name:  "published",
		About: "a port of the host, translated (DNAT) to a container behind a bridge; the client is a process of a host",
	})
}

// PublishedProxy returns the driver of the same by a user-space proxy such as docker-proxy.
func PublishedProxy() network.Driver {
	return forwarded(true, network.Info{
		Name: "published-proxy", Carried: true,
		About: "a port of the host, forwarded by a user-space proxy to a container behind a bridge; the client is a process of a host",
	})
}

func forwarded(proxy bool, i network.Info) network.Driver {
	i.Hosts, i.Endpoints, i.Overflow = []int{1, 2}, plumb.MaxPorts, true
	return plumb.Recipe{
		Info:  i,
		Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.BridgeNetfilter, plumb.NAT},
		Begin: plumb.BeginWith(func(inside *network.Topology) { inside.Clients = 0 }),
		Build: func(ctx context.Context, n *plumb.Network) error {
			n.ClientsOnHosts()
			p := &publication{Network: n, dnat: map[key][]nft.Rule{}, accept: map[bool][]nft.Rule{}}
			n.Reach, n.Translated, n.Hops = published, true, p.path
			if err := p.publish(ctx, proxy); err != nil || !proxy {
				return err
			}
			return p.startProxy(ctx)
		},
	}.Driver()
}

// publication is the published ports of a network's servers.
type publication struct {
	*plumb.Network
	rules   *plumb.DockerRules
	dnat    map[key][]nft.Rule  // none where a proxy serves
	accept  map[bool][]nft.Rule // likewise; of all servers, for IPv4 and for IPv6 (true)
	carried func(context.Context, int) (network.Count, error)
}

// published returns the address of the ports: clients know only the host's.
func published(_, to *plumb.Node, f network.Family) netip.Addr {
	return to.Host.OnUnderlay(f == network.IPv6)
}

func (p *publication) publish(ctx context.Context, proxy bool) (err error) {
	if p.rules, err = dockers(ctx, p.Site, p.Site.Hosts[0], true); err != nil {
		return err
	}
	if !proxy {
		for i, n := range p.Servers {
			first, last := p.Topo.Ports(i)
			for _, six := range []bool{false, true} {
				k := key{n, six}
				translated, accepted := p.rules.Publish(n, n.Host.OnUnderlay(six), first, last)
				p.dnat[k], p.accept[six] = translated, append(p.accept[six], accepted...)
			}
		}
	}
	return p.rules.Commit(p.Site)
}

func (p *publication) path(from, to *plumb.Node, f network.Family) []network.Hop {
	var hops []network.Hop
	if from.Host != to.Host {
		hops = append(hops, from.Host.UplinkHop(), to.Host.UplinkHop())
	}
	k := key{to, f == network.IPv6}
	// One rule accepts the packets of all connections that are established, and one their answers, so the hop is one of all
	// servers.
	established := plumb.RuleHop(to.Host, "rule established", network.Rule, append(slices.Clone(p.accept[k.six]), p.rules.Established, p.rules.Outward)...)
	if p.carried != nil {
		server := slices.Index(p.Servers, to)
		hops = append(hops, network.Hop{
			Name: to.Host.Name() + "/proxy-" + to.Name(), Kind: network.Proxy,
			Read: func(ctx context.Context) (network.Count, error) { return p.carried(ctx, server) },
		}, plumb.Absent(established))
	} else {
		hops = append(hops, plumb.RuleHop(to.Host, "rule dnat "+to.Name(), network.Connection, p.dnat[k]...))
		if from.Host == to.Host {
			established = plumb.Absent(established) // packets of the host itself are not forwarded
		}
		hops = append(hops, established)
	}
	return append(hops, to.PortHop(), to.Hop())
}
