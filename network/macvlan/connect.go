package macvlan

import (
	"context"

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
	for _, n := range s.Nodes() {
		if err := s.Child(ctx, n, "eth0", plumb.MacvlanBridge); err != nil {
			return nil, s.Abandon(ctx, err)
		}
	}
	return &plumb.Network{Site: s, Hops: plumb.ChildHops}, nil
}
