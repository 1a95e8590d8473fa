package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/technique"
	"nettoll/technique/veth"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// pair is a client and a server on a veth pair, and the CPUs of each.
type pair struct {
	network technique.Network
	addr    string
	job     workload.Job
	cpus    [2]int // client, server
}

func newPair(ctx context.Context, cpus [2]int) (*pair, error) {
	n, err := veth.New().Connect(ctx, technique.Topology{Hosts: 1, Servers: 1, Clients: 1}, lab.New())
	if err != nil {
		return nil, err
	}
	c, s := n.Clients()[0], n.Servers()[0]
	a, err := n.Addr(c, s, technique.IPv4)
	if err != nil {
		return nil, err
	}
	return &pair{network: n, addr: a.String(), cpus: cpus, job: workload.Job{
		Pairs:    []workload.Pair{{Client: c, Server: s, Addr: a, Port: 20001}},
		Warmup:   time.Second,
		Duration: 2 * time.Second,
		CPUs:     workload.CPUs{Client: cpus[:1], Server: cpus[1:]},
		Watch:    workload.Watch{Open: func() {}, Close: func() {}},
	}}, nil
}

// engine drives a workload with nettoll's engine and gives one of its metrics.
func (p *pair) engine(ctx context.Context, load, metric string, o record.Options) (float64, error) {
	job := p.job
	job.Workload, job.Options = load, o
	res, err := engine.New().Run(ctx, job)
	if err != nil {
		return 0, err
	}
	return res.Metrics[metric].Value, nil
}

// tool runs a server and a client program, each pinned, and gives what the client
// printed.
func (p *pair) tool(ctx context.Context, server, client []string) ([]byte, error) {
	for _, name := range []string{server[0], "taskset"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, err
		}
	}
	s, err := start(ctx, p.network.Servers()[0], p.cpus[1], server)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	time.Sleep(300 * time.Millisecond) // until it listens
	c, err := start(ctx, p.network.Clients()[0], p.cpus[0], client)
	if err != nil {
		return nil, err
	}
	defer c.Kill()
	out := make([]byte, 0, 1<<16)
	buf := make([]byte, 1<<16)
	for {
		n, err := c.Stdout().Read(buf)
		out = append(out, buf[:n]...)
		if err != nil {
			break
		}
	}
	if err := c.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", client[0], errors.Join(err, errors.New(string(out))))
	}
	return out, nil
}

func start(ctx context.Context, e platform.Endpoint, cpu int, command []string) (platform.Process, error) {
	return e.Start(ctx, platform.Command{Path: "taskset", Args: append([]string{"-c", strconv.Itoa(cpu)}, command...)})
}
