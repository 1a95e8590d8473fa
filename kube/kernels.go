package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nettoll/network"
	"nettoll/record"
)

// Kernels makes a pod on each of the nodes that networks on so many hosts use, and returns their agents, which tell what the
// kernels allow to pods. The pods ask for as many CPUs as measured ones, so that it shows early where there are none. The agents
// end when end is called; what is left of the pods is removed with the keeper.
func (o *Own) Kernels(ctx context.Context, hosts int) (agents []network.Agent, end func(), err error) {
	asked := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.begin(ctx, asked); err != nil {
		return nil, func() {}, err
	}
	in := o.cluster(o.keeper)
	var specs []PodSpec
	for i, name := range o.nodes[:min(hosts, len(o.nodes))] {
		specs = append(specs, PodSpec{Node: &Node{Host: ownNode{fmt.Sprintf("kernel%d", i+1), o}, As: name, cluster: in}, CPUs: o.o.PodCPUs})
	}
	pods, err := in.Run(ctx, specs...)
	if err != nil {
		return nil, func() {}, fmt.Errorf("ask the nodes: %w", errors.Join(err, in.Remove(context.WithoutCancel(ctx))))
	}
	return record.Each(pods, func(p *Pod) network.Agent { return p.Containers[0] }), func() {
		for _, p := range pods {
			p.Containers[0].close()
		}
	}, nil
}
