package routed

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
	for _, h := range s.Hosts {
		if err := host(ctx, s, h); err != nil {
			return nil, s.Abandon(ctx, err)
		}
	}
	if err := s.RouteContainers(); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return &plumb.Network{Site: s, Hops: hops, OnWire: plumb.Bare}, nil
}

const bridge = "br0"

func host(ctx context.Context, s *plumb.Site, h *plumb.Host) error {
	br, err := s.AddBridge(h, bridge, s.Topo.Underlay.MTU, true)
	if err != nil {
		return err
	}
	if err := br.Attach(ctx, s, h.Nodes, plumb.Plug{Gateway: true}); err != nil {
		return err
	}
	return h.Forwarding()
}

func hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	return []network.Hop{
		from.Hop(), from.PortHop(), plumb.DeviceHop(from.Host.Name(), from.Host.NS, bridge), from.Host.UplinkHop(),
		to.Host.UplinkHop(), plumb.DeviceHop(to.Host.Name(), to.Host.NS, bridge), to.PortHop(), to.Hop(),
	}
}
