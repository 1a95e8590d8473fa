package routedbgp

import (
	"context"
	"fmt"

	"nettoll/internal/bird"
	"nettoll/internal/plumb"
	"nettoll/network"
)

func (v variant) build(ctx context.Context, on *plumb.Network) (err error) {
	n := &build{Network: on, policies: map[*plumb.Node]network.Hop{}}
	n.OnWire, n.Hops = plumb.Bare, n.hops
	for _, h := range n.Site.Hosts {
		err := n.AttachBehindProxyARP(ctx, h, h.Uplink().MTU)
		if err == nil {
			err = route(h)
		}
		if err == nil && v.policies > 0 {
			err = n.enforce(h, v.policies)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	routes := plumb.Routes{Site: n.Site, Families: []bool{false, true}}
	for _, h := range n.Site.Hosts {
		routes.Forget(h)
	}
	n.Check = func(context.Context) error { return routes.Lost("bird") }
	n.Needed, err = bird.Mesh{Routes: routes, Paths: v.paths}.Start(ctx)
	return err
}

// build is the site, and the rules that prove that policies are on the path.
type build struct {
	*plumb.Network
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
