package main

import (
	"context"
	"time"

	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform/lab"
	"nettoll/workload"
)

// pair is a client and a server on a veth pair.
type pair struct {
	network *network.Network
	job     workload.Job
}

func newPair(ctx context.Context, cpus [2]int) (*pair, error) {
	n, err := kernel.Veth().Connect(ctx, network.Topology{Hosts: 1, Servers: 1, Clients: 1}, lab.New())
	if err != nil {
		return nil, err
	}
	c, s := n.Clients[0], n.Servers[0]
	a, err := n.Addr(c, s, network.IPv4)
	if err != nil {
		return nil, err
	}
	return &pair{network: n, job: workload.Job{
		Pairs:    []workload.Pair{{Client: c, Server: s, Addr: a, Listen: a, Port: 20001, Own: [2]int{20002, 20003}}},
		Warmup:   500 * time.Millisecond,
		Duration: time.Second,
		CPUs:     workload.CPUs{Client: cpus[:1], Server: cpus[1:]},
		Watch:    workload.Watch{Open: func() {}, Close: func() {}},
	}}, nil
}
