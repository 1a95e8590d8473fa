package routedbgp

import (
	"context"
	"fmt"

	"nettoll/internal/bird"
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
	n := &build{Network: plumb.Network{Site: s, OnWire: plumb.Bare}, policies: map[*plumb.Node]network.Hop{}}
	n.Hops = n.hops
	for _, h := range s.Hosts {
		err := s.AttachBehindProxyARP(ctx, h, h.Uplink().MTU)
		if err == nil {
			err = route(h)
		}
		if err == nil && t.policies > 0 {
			err = n.enforce(h, t.policies)
		}
		if err != nil {
			return nil, s.Abandon(ctx, fmt.Errorf("%s: %w", h.Name(), err))
		}
	}
	routes := plumb.Routes{Site: s, Families: []bool{false, true}}
	for _, h := range s.Hosts {
		routes.Forget(h)
	}
	if n.Needed, err = (bird.Mesh{Routes: routes, Paths: t.paths}).Start(ctx); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	n.Check = func(context.Context) error { return routes.Lost("bird") }
	return n, nil
}

// network is the site, and the rules that prove that policies are on the path.
type build struct {
	plumb.Network
	policies map[*plumb.Node]network.Hop
}

func (n *build) hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	hops := n.side(from)
	if from.Host != to.Host {
		hops = append(hops, from.Host.UplinkHop(), to.Host.UplinkHop())
	} else {
		hops = append(hops, plumb.Absent(from.Host.UplinkHop()))
	}
	far := n.side(to)
	for i := len(far) - 1; i >= 0; i-- {
		hops = append(hops, far[i])
	}
	return hops
}

// side is the path from a container to the routes of its host.
func (n *build) side(node *plumb.Node) []network.Hop {
	hops := []network.Hop{node.Hop(), node.PortHop()}
	if hop, ok := n.policies[node]; ok {
		hops = append(hops, hop)
	}
	return hops
}
