package loopback

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Connect implements network.Technique.
func (Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	s, err := plumb.BeginHosts(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	for range topo.Servers {
		s.Servers = append(s.Servers, s.OnHost(s.Hosts[0]))
	}
	for range topo.Clients {
		s.Clients = append(s.Clients, s.OnHost(s.Hosts[0]))
	}
	return &plumb.Network{Site: s, Reach: plumb.OverLoopback, Hops: plumb.LoopbackHops}, nil
}
