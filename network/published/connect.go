package published

import (
	"context"
	"net/netip"

	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Connect implements network.Technique.
func (t Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	inside := topo
	inside.Clients = 0
	s, err := plumb.Begin(ctx, inside, p)
	if err != nil {
		return nil, err
	}
	s.Topo = topo
	for i := range topo.Clients {
		s.Clients = append(s.Clients, s.OnHost(s.ClientHost(i)))
	}
	b := &build{Network: &plumb.Network{Site: s, Reach: reach, Translated: true}, dnat: map[key][]nft.Rule{}, accept: map[key][]nft.Rule{}}
	b.Hops = b.path
	if err := b.bridge(ctx, t.proxy); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	if t.proxy {
		if err := b.startProxy(ctx); err != nil {
			return nil, s.Abandon(ctx, err)
		}
	}
	return b, nil
}

type build struct {
	*plumb.Network
	rules   *plumb.DockerRules
	dnat    map[key][]nft.Rule // none where a proxy serves
	accept  map[key][]nft.Rule // the same
	carried func(context.Context, int) (network.Count, error)
}

type key struct {
	node *plumb.Node
	six  bool
}

// reach: clients know only the host's address.
func reach(_, to *plumb.Node, f network.Family) netip.Addr {
	if f == network.IPv6 {
		return to.Host.Uplink().Addr6.Addr()
	}
	return to.Host.Uplink().Addr4.Addr()
}

func (b *build) bridge(ctx context.Context, proxy bool) error {
	h := b.Hosts[0]
	br, err := b.AddBridge(h, "br0", b.Topo.Underlay.MTU, true)
	if err != nil {
		return err
	}
	if err := br.Attach(ctx, b.Site, h.Nodes, plumb.Plug{Gateway: true}); err != nil {
		return err
	}
	if err := h.BridgeNetfilter(true); err != nil {
		return err
	}
	if b.rules, err = b.AddDockerRules(br); err != nil {
		return err
	}
	if !proxy {
		for i, n := range b.Site.Servers {
			first, last := b.Topo.Ports(i)
			for _, six := range []bool{false, true} {
				k := key{n, six}
				b.dnat[k], b.accept[k] = b.rules.Publish(n, first, last, six)
			}
		}
	}
	return b.rules.Commit(b.Site)
}

func (b *build) path(from, to *plumb.Node, f network.Family) []network.Hop {
	var hops []network.Hop
	if from.Host != to.Host {
		hops = append(hops, from.Host.UplinkHop(), to.Host.UplinkHop())
	}
	k := key{to, f == network.IPv6}
	established := plumb.RuleHop(to.Host, "rule established", network.Rule, append(b.accept[k], b.rules.Established)...)
	if b.carried != nil {
		server := b.server(to)
		hops = append(hops, network.Hop{
			Name: to.Host.Name() + "/proxy-" + to.Name(), Kind: network.Proxy,
			Read: func(ctx context.Context) (network.Count, error) { return b.carried(ctx, server) },
		}, plumb.Absent(established))
	} else {
		hops = append(hops, plumb.RuleHop(to.Host, "rule dnat "+to.Name(), network.Connection, b.dnat[k]...))
		if from.Host == to.Host {
			established = plumb.Absent(established) // what the host itself sends is not forwarded
		}
		hops = append(hops, established)
	}
	return append(hops, to.PortHop(), to.Hop())
}

func (b *build) server(n *plumb.Node) int {
	for i, s := range b.Site.Servers {
		if s == n {
			return i
		}
	}
	return -1
}
