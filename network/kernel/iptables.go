package kernel

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
)

// IPTables is containers behind a bridge that have external addresses on devices of their host.
func IPTables() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "iptables", Hosts: []int{1, 2}, Endpoints: plumb.MaxPorts, Overflow: true,
			About: "each container has an external address on a macvlan device of the host; DNAT and SNAT lead to it behind a bridge",
		},
		Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.BridgeNetfilter, plumb.Macvlan, plumb.NAT},
		Build: func(ctx context.Context, n *plumb.Network) error {
			t := translation{n.Site, map[key]nft.Rule{}, map[key]nft.Rule{}}
			n.Translated, n.Hops = true, t.hops
			n.Reach = func(_, to *plumb.Node, f network.Family) netip.Addr { return external(to, f == network.IPv6) }
			for _, h := range n.Site.Hosts {
				if err := t.host(ctx, h); err != nil {
					return fmt.Errorf("iptables: %s: %w", h.Name(), err)
				}
			}
			return nil
		},
	}.Driver()
}

// translation collects the rules that prove the path.
type translation struct {
	*plumb.Site
	dnat, snat map[key]nft.Rule
}

// key is a container's address of a family.
type key struct {
	node *plumb.Node
	six  bool
}

func external(n *plumb.Node, six bool) netip.Addr {
	return plumb.ExternalAddr(n.Host.Index, n.Index, six)
}

// host builds one host: the bridge, the rules, and the external addresses.
func (t translation) host(ctx context.Context, h *plumb.Host) error {
	rules, err := dockers(ctx, t.Site, h, true)
	if err != nil {
		return err
	}
	for _, n := range h.Nodes {
		for _, six := range []bool{false, true} {
			k := key{n, six}
			t.dnat[k], t.snat[k] = rules.Translate(n, external(n, six))
		}
		if err := t.carry(n); err != nil {
			return err
		}
	}
	// The uplink must not answer for addresses that are on the macvlan devices.
	if err := netns.SetSysctl(h.NS, "net/ipv4/conf/all/arp_ignore", "1"); err != nil {
		return err
	}
	return rules.Commit(t.Site)
}

// carry makes the macvlan device that has the container's external addresses.
func (t translation) carry(n *plumb.Node) error {
	h, device := n.Host, fmt.Sprintf("mv%d", n.Index)
	t.Made(device, func(context.Context) error {
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

func (t translation) hops(from, to *plumb.Node, f network.Family) []network.Hop {
	six := f == network.IPv6
	hops := []network.Hop{
		from.Hop(),
		from.PortHop(),
		plumb.RuleHop(from.Host, "rule snat "+from.Name(), network.Connection, t.snat[key{from, six}]),
	}
	if from.Host != to.Host {
		hops = append(hops, from.Host.UplinkHop())
	}
	return append(hops,
		plumb.RuleHop(to.Host, "rule dnat "+to.Name(), network.Connection, t.dnat[key{to, six}]),
		to.PortHop(),
		to.Hop())
}
