package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// Times that are aimed at, for a network with many neighbours.
const (
	buildAim  = 60.0 // seconds until it is built, silent and measured
	removeAim = 10.0 // seconds until nothing of it is left
)

// neighbours measures one trial over bridges with thousands of containers that do not talk,
// and with thousands of firewall rules in front of them: how long it takes until it is
// measured at rest, and then until all is gone. (With ip -batch and nft -f the same takes minutes;
// what nettoll builds is compared with ip -batch at 1,000 containers.)
func neighbours(ctx context.Context, _ *work) error {
	for _, c := range []struct{ neighbours, rules int }{{4096, 0}, {1000, 10_000}} {
		name := fmt.Sprintf("%d neighbours, %d rules", c.neighbours, c.rules)
		ours, err := measureNeighbours(ctx, c.neighbours, c.rules)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: built in %.1f s, measured %.1f s later, removed in %.1f s\n",
			name, ours.built.Seconds(), (ours.measured - ours.built).Seconds(), ours.gone.Seconds())
		ratios{ours.measured.Seconds()}.show(name+": seconds until it is measured", false, buildAim)
		ratios{ours.gone.Seconds()}.show(name+": seconds until it is gone", false, removeAim)
	}
	return nil
}

// phases are times from the beginning, but for gone, which is from when the removal begins.
type phases struct{ built, measured, gone time.Duration }

// timed is a driver that tells when its network is begun, built and closed.
func timed(d network.Driver, begun, built, closed *time.Time) network.Driver {
	connect := d.Connect
	d.Connect = func(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
		*begun = time.Now()
		n, err := connect(ctx, topo, p)
		*built = time.Now()
		if err != nil {
			return nil, err
		}
		end := n.Close
		n.Close = func(ctx context.Context) error {
			*closed = time.Now()
			return end(ctx)
		}
		return n, nil
	}
	return d
}

func measureNeighbours(ctx context.Context, neighbours, rules int) (p phases, err error) {
	var begun, built, closed, saved time.Time
	k := known{hosts: 1, workloads: []string{record.TCPRR}, tools: []workload.Tool{engine.New()}, rounds: 1, duration: time.Second,
		names: []string{"bridge"}, how: []network.Driver{timed(kernel.Bridge(), &begun, &built, &closed)}}
	run, err := runOf("neighbours", k)
	if err != nil {
		return p, err
	}
	run.Cells[0].Neighbours, run.Cells[0].Rules = neighbours, rules
	var trial record.Trial
	l := lab.New()
	save := func(t record.Trial) error { trial, saved = t, time.Now(); return nil }
	if _, err := k.runner(l, run, save).Run(ctx); err != nil {
		return p, err
	}
	if err := l.Gone(ctx); err != nil {
		return p, err
	}
	if trial.Status != record.OK {
		return p, fmt.Errorf("%s: %s", trial.Status, trial.Reason)
	}
	return phases{built.Sub(begun), saved.Sub(begun), time.Since(closed)}, nil
}
