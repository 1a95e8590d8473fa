package host

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
	for i := range topo.Clients {
		s.Clients = append(s.Clients, s.OnHost(s.ClientHost(i)))
	}
	return &plumb.Network{Site: s, Hops: hops}, nil
}

// hops: the kernel sends what a host says to its own address over lo.
func hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	if from.Host == to.Host {
		return []network.Hop{from.LoopbackHop(), plumb.Absent(from.Host.UplinkHop())}
	}
	return []network.Hop{from.Host.UplinkHop(), to.Host.UplinkHop()}
}
