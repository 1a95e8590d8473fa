package kernel

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/internal/netns"
	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
	"nettoll/network"
	"nettoll/record"
)

// IPTables returns the driver of containers behind a bridge, with external addresses on devices of
// their host.
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
			return record.Try(n.Site.Hosts, func(h *plumb.Host) error {
				return wrap.Error(t.host(ctx, h), "iptables: %s", h.Name())
			})
		},
	}.Driver()
}

// translation collects the rules that prove the path.
type translation struct {
	*plumb.Site
	dnat, snat map[key]nft.Rule
}

// key is a container and the family of one of its addresses.
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
	for _, n := range h.Nodes[:min(len(h.Nodes), plumb.MaxExternal)] { // further neighbours have none
		for _, six := range []bool{false, true} {
			k := key{n, six}
			t.dnat[k], t.snat[k] = rules.Translate(n, external(n, six))
		}
		// The external addresses of each container are on a separate device.
		device := fmt.Sprintf("mv%d", n.Index)
		if err := t.AddChild(h, device, plumb.MacvlanBridge, plumb.Single(external(n, false)), plumb.Single(external(n, true))); err != nil {
			return err
		}
		if err := loosen(h.NS, device); err != nil {
			return err
		}
	}
	// The uplink must not answer for addresses that are on the macvlan devices.
	if err := netns.SetSysctl(h.NS, "net/ipv4/conf/all/arp_ignore", "1"); err != nil {
		return err
	}
	return rules.Commit(t.Site)
}

// loosen has a host that checks sources strictly (rp_filter 1, as some distributions set it) check those of packets from a device
// loosely: the way back to them is another device, so it would drop them.
func loosen(ns, device string) error {
	own := "net/ipv4/conf/" + device + "/rp_filter"
	for _, key := range []string{"net/ipv4/conf/all/rp_filter", own} { // the larger one is in force
		check, err := netns.Sysctl(ns, key)
		if err != nil {
			return err
		}
		if check == "1" {
			return netns.SetSysctl(ns, own, "2")
		}
	}
	return nil
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
