package sharedns

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Connect implements network.Technique. The first server has the namespace,
// all others join it.
func (Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	alone := topo
	alone.Servers, alone.Clients = 1, 0
	s, err := plumb.Begin(ctx, alone, p)
	if err != nil {
		return nil, err
	}
	owner, h := s.Servers[0], s.Hosts[0]
	sharer, ok := h.Host.(platform.Sharer)
	if !ok {
		return nil, s.Abandon(ctx, &platform.Unsupported{
			Feature: "containers that share a namespace", Option: "a platform that can start them",
			Remedy: "measure this technique in the lab",
		})
	}
	join := func(nodes []*plumb.Node, n int) ([]*plumb.Node, error) {
		for len(nodes) < n {
			e, err := sharer.Share(ctx, owner.Endpoint)
			if err != nil {
				return nil, err
			}
			node, err := s.Adopt(h, e)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node)
		}
		return nodes, nil
	}
	if s.Servers, err = join(s.Servers, topo.Servers); err == nil {
		s.Clients, err = join(nil, topo.Clients)
	}
	if err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return &plumb.Network{Site: s, Reach: plumb.OverLoopback, Hops: plumb.LoopbackHops}, nil
}
