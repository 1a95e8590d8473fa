package kernel

import (
	"context"
	"slices"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// parts returns the handlers by which an agent builds one machine's part of networks between machines.
func parts() map[string]agent.Handler {
	all := map[string]agent.Handler{
		plumb.MethodPart("macvlan"):   plumb.Handler([]plumb.Need{plumb.Macvlan}, plumb.ChildrenPart("eth0", plumb.MacvlanBridge)),
		plumb.MethodPart("routed"):    plumb.Handler([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.Macvlan}, routedPart),
		plumb.MethodPart("published"): plumb.Handler([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.Macvlan, plumb.NAT}, publishedPart),
		plumb.MethodRules:             agent.Typed(func(ctx context.Context, r plumb.Rules) (network.Count, error) { return r.Count(ctx) }),
	}
	for _, t := range []tunnel{vxlan, ipip, gre, geneve} {
		all[plumb.MethodPart(t.Name)] = plumb.Handler(t.needs(), t.part)
	}
	return all
}

// way is the device by which the namespace that stands for a machine reaches those of the other machines. It does not
// change the machine.
const way = "up0"

// routedPart builds one machine's part of plain routes between containers: the routers reach each other by macvlan
// devices on the uplinks, so that no machine needs a route or has to forward.
func routedPart(ctx context.Context, s *plumb.Site, h *plumb.Host) (plumb.Built, error) {
	b := plumb.Built{Crossed: map[int][]string{}}
	if err := h.SparesLRO(); err != nil {
		return b, err
	}
	if err := s.Bridge(ctx, h, bridge, h.Uplink().MTU, plumb.Attachment{Gateway: true}); err != nil {
		return b, err
	}
	if err := h.Join(way, 0); err != nil {
		return b, err
	}
	return b, nl.With(h.NS, func(n *nl.NS) error {
		for _, other := range s.Others(h) {
			b.Crossed[other.Index] = []string{bridge, way}
			for _, six := range []bool{false, true} {
				if err := n.Route(plumb.Subnet(other.Index, six), plumb.ExternalAddr(other.Index, 0, six), way); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// publishedPart builds one machine's part of published ports. The namespace that stands for the first machine translates
// ports of its own address, which is on the segment of the machines, to containers behind its bridge. The clients are in
// the namespaces that stand for the others. So no machine has to forward, and none gets a rule.
func publishedPart(ctx context.Context, s *plumb.Site, h *plumb.Host) (b plumb.Built, err error) {
	const number = 1
	if err := h.Join(way, number); err != nil {
		return b, err
	}
	b.Outside = h.Outside(way, number)
	if len(h.Nodes) == 0 {
		return b, nil
	}
	if err := h.SparesLRO(); err != nil {
		return b, err
	}
	if err := s.Bridge(ctx, h, bridge, h.Uplink().MTU, plumb.Attachment{Gateway: true}); err != nil {
		return b, err
	}
	if h.Index > 0 { // it has neighbours only
		return b, nil
	}
	if err := h.BridgeNetfilter(true); err != nil { // as in the lab
		return b, err
	}
	rules, err := s.AddDockerRules(h, bridge)
	if err != nil {
		return b, err
	}
	defer rules.Close() // they are read by their names
	families := []network.Family{network.IPv4, network.IPv6}
	dnat, accept := map[key][]nft.Rule{}, map[network.Family][]nft.Rule{}
	for i, n := range h.Nodes {
		first, last := s.Topo.Ports(i)
		for _, f := range families {
			translated, accepted := rules.Publish(n, b.Outside.Addr(f == network.IPv6).Addr(), first, last)
			if dnat[key{n, f == network.IPv6}] = translated; i < s.Topo.Servers { // after these come neighbours, which nobody sends to
				accept[f] = append(accept[f], accepted...)
			}
		}
	}
	for i, n := range h.Nodes {
		for _, f := range families {
			count := func(name string, kind network.HopKind, of ...nft.Rule) {
				b.Counters = append(b.Counters, plumb.Counter{
					Name: "rule-" + name, Kind: kind, Container: i, Family: f, Method: plumb.MethodRules, Params: rules.Named(of...),
				})
			}
			// One rule accepts the packets of all connections that are established, and one their answers, so the counter is
			// one of all servers.
			count("established", network.Rule, append(slices.Clone(accept[f]), rules.Established, rules.Outward)...)
			count("dnat-"+n.Name(), network.Connection, dnat[key{n, f == network.IPv6}]...)
		}
	}
	b.Crossed = map[int][]string{}
	for _, other := range s.Others(h) {
		b.Crossed[other.Index] = []string{way}
	}
	return b, rules.Commit(s)
}
