package iptables

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Connect implements network.Technique.
func (Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	s, err := plumb.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	b := &build{Site: s, dnat: map[key]nft.Rule{}, snat: map[key]nft.Rule{}}
	for _, h := range s.Hosts {
		if err := b.host(ctx, h); err != nil {
			return nil, s.Abandon(ctx, fmt.Errorf("iptables: %s: %w", h.Name(), err))
		}
	}
	return &plumb.Network{Site: s, Reach: reach, Translated: true, Hops: b.hops}, nil
}

// build collects the rules that prove the path.
type build struct {
	*plumb.Site
	dnat, snat map[key]nft.Rule
}

type key struct {
	node *plumb.Node
	six  bool
}

func external(n *plumb.Node, six bool) netip.Addr {
	return plumb.ExternalAddr(n.Host.Index, n.Index, six)
}

func reach(_, to *plumb.Node, f network.Family) netip.Addr {
	return external(to, f == network.IPv6)
}

// host builds one host: the bridge, the rules, and the external addresses.
func (b *build) host(ctx context.Context, h *plumb.Host) error {
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
	rules, err := b.AddDockerRules(br)
	if err != nil {
		return err
	}
	for _, n := range h.Nodes {
		for _, six := range []bool{false, true} {
			k := key{n, six}
			b.dnat[k], b.snat[k] = rules.Translate(n, external(n, six))
		}
		if err := b.carry(n); err != nil {
			return err
		}
	}
	// The uplink must not answer for addresses that are on the macvlan devices.
	if err := netns.SetSysctl(h.NS, "net/ipv4/conf/all/arp_ignore", "1"); err != nil {
		return err
	}
	return rules.Commit(b.Site)
}

// carry makes the macvlan device that has the container's external addresses.
func (b *build) carry(n *plumb.Node) error {
	h, device := n.Host, fmt.Sprintf("mv%d", n.Index)
	b.Made(device, func(context.Context) error {
		return nl.With(h.NS, func(in *nl.NS) error { return in.Remove(device) })
	})
	return nl.With(h.NS, func(in *nl.NS) error {
		parent, err := in.Link(h.Uplink().Device)
		if err != nil {
			return err
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.ParentIndex = device, parent.Attrs().Index
		if err := in.Add(plumb.MacvlanBridge(attrs)); err != nil {
			return err
		}
		if err := in.Up(device); err != nil {
			return err
		}
		for _, six := range []bool{false, true} {
			a := external(n, six)
			if err := in.Addr(device, netip.PrefixFrom(a, a.BitLen())); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *build) hops(from, to *plumb.Node, f network.Family) []network.Hop {
	six := f == network.IPv6
	hops := []network.Hop{
		from.Hop(),
		from.PortHop(),
		plumb.RuleHop(from.Host, "rule snat "+from.Name(), network.Connection, b.snat[key{from, six}]),
	}
	if from.Host != to.Host {
		hops = append(hops, from.Host.UplinkHop())
	}
	return append(hops,
		plumb.RuleHop(to.Host, "rule dnat "+to.Name(), network.Connection, b.dnat[key{to, six}]),
		to.PortHop(),
		to.Hop())
}
