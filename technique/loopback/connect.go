package loopback

import (
	"context"
	"net/netip"

	"nettoll/internal/plumb"
	"nettoll/platform"
	"nettoll/technique"
)

// Connect implements technique.Technique.
func (Technique) Connect(ctx context.Context, topo technique.Topology, p platform.Platform) (technique.Network, error) {
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
	return &plumb.Network{
		Site: s,
		Reach: func(_, _ *plumb.Node, f technique.Family) netip.Addr {
			if f == technique.IPv6 {
				return netip.IPv6Loopback()
			}
			return netip.AddrFrom4([4]byte{127, 0, 0, 1})
		},
		Hops: func(from, _ *plumb.Node, _ technique.Family) []technique.Hop {
			return []technique.Hop{from.LoopbackHop()}
		},
	}, nil
}
