package pipework

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// device is the name that pipework gives the interface inside.
const device = "eth1"

// Connect implements network.Technique.
func (t Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	s, err := plumb.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	build := veth
	if t.macvlan {
		build = macvlan
	}
	n, err := build(ctx, s)
	if err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return n, nil
}

func macvlan(ctx context.Context, s *plumb.Site) (*plumb.Network, error) {
	for _, n := range s.Nodes() {
		if err := s.Child(ctx, n, device, plumb.MacvlanBridge); err != nil {
			return nil, err
		}
	}
	return &plumb.Network{Site: s, Hops: plumb.ChildHops}, nil
}

func veth(ctx context.Context, s *plumb.Site) (*plumb.Network, error) {
	h := s.Hosts[0]
	br, err := s.AddBridge(h, "br1", s.Topo.Underlay.MTU, false)
	if err != nil {
		return nil, err
	}
	if err := br.Attach(ctx, s, h.Nodes, plumb.Plug{Device: device}); err != nil {
		return nil, err
	}
	return &plumb.Network{Site: s, Hops: plumb.BridgedHops}, nil
}
