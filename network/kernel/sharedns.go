package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// SharedNS returns the driver of containers in one network namespace. The first server owns it, all
// others join it.
func SharedNS() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "sharedns", Hosts: []int{1},
			About: "containers share one network namespace, as in a pod, and talk over its lo",
		},
		Begin: plumb.BeginWith(func(alone *network.Topology) { alone.Servers, alone.Clients = 1, 0 }),
		Build: share,
	}.Driver()
}

func share(ctx context.Context, n *plumb.Network) (err error) {
	owner, h := n.Servers[0], n.Site.Hosts[0]
	sharing := h.Facts().Share
	if sharing == nil {
		return &platform.Unsupported{
			Feature: "containers that share a namespace", Option: "a platform that can start them",
			Remedy: "measure this network in the lab",
		}
	}
	join := func(nodes []*plumb.Node, count int) ([]*plumb.Node, error) {
		for len(nodes) < count {
			e, err := sharing(ctx, owner.Endpoint)
			if err != nil {
				return nil, err
			}
			node, err := n.Adopt(h, e)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node)
		}
		return nodes, nil
	}
	if n.Servers, err = join(n.Servers, n.Topo.Servers); err != nil {
		return err
	}
	n.Reach, n.Hops = plumb.OverLoopback, plumb.LoopbackHops
	n.Clients, err = join(nil, n.Topo.Clients)
	return err
}
