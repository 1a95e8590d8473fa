package kube

import (
	"context"
	"errors"
	"fmt"
)

// Agents on nodes of the user's read the counters of the nodes' devices, before and after payload crosses them. Each is in a
// pod that differs from others only in that it has the network of its node. It has no view of the node's processes (hostPID):
// what its first process ends, when no agent arrives, is everything that it sees.

// Expectable is what may be expected to carry payload between nodes: kinds of tunnels, as the kernel names their devices, or
// ExpectPlain.
var Expectable = []string{"vxlan", "geneve", "ipip", "wireguard", ExpectPlain}

// ExpectPlain means that no tunnel carries the payload.
const ExpectPlain = "plain"

// Expect is what the user expects to carry payload between the nodes, one of Expectable; "" is anything.
func (c *Cluster) Expect() string {
	if c.own == nil {
		return ""
	}
	return c.own.o.Expect
}

// observe makes sure that each node of the cluster has an agent, which lives as long as the keeper.
func (o *Own) observe(ctx context.Context, c *Cluster) error {
	k, in := c.keeper, o.cluster(c.keeper)
	var specs []PodSpec
	var of []*Node
	for _, n := range c.Nodes {
		if n.Agent = k.agents[n.As]; n.Agent != nil && n.Agent.first.Err() == nil {
			continue
		}
		k.observed++
		of = append(of, n)
		specs = append(specs, PodSpec{HostNetwork: true, Node: &Node{Host: ownNode{fmt.Sprintf("node%d", k.observed), o}, As: n.As, cluster: in}})
	}
	pods, err := in.Run(ctx, specs...)
	if err != nil {
		return fmt.Errorf("agents of nodes: %w", errors.Join(err, in.Remove(context.WithoutCancel(ctx))))
	}
	for i, p := range pods {
		of[i].Agent = p.Containers[0]
		k.agents[of[i].As] = of[i].Agent
	}
	return nil
}
