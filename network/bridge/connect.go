package bridge

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Connect implements network.Technique.
func (t Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	s, err := plumb.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	n, err := t.build(ctx, s)
	if err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return n, nil
}

func (t Technique) build(ctx context.Context, s *plumb.Site) (*plumb.Network, error) {
	h := s.Hosts[0]
	br, err := s.AddBridge(h, "br0", s.Topo.Underlay.MTU, true)
	if err != nil {
		return nil, err
	}
	if err := br.Attach(ctx, s, h.Nodes, plumb.Plug{Gateway: true}); err != nil {
		return nil, err
	}
	if err := h.BridgeNetfilter(t.netfilter); err != nil {
		return nil, err
	}
	rules, err := s.AddDockerRules(br)
	if err != nil {
		return nil, err
	}
	if err := rules.Commit(s); err != nil {
		return nil, err
	}
	return &plumb.Network{Site: s, Hops: func(from, to *plumb.Node, _ network.Family) []network.Hop {
		established := plumb.RuleHop(h, "rule established", network.Rule, rules.Established, rules.Among)
		if !t.netfilter {
			established = plumb.Absent(established)
		}
		return []network.Hop{from.Hop(), from.PortHop(), established, to.PortHop(), to.Hop()}
	}}, nil
}
