package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// roundsAtOnce is how many rounds a run file of equivalence has.
const roundsAtOnce = 6

// equivalence measures networks that stand in turns and by whole trials of a second, in the same
// rounds, so many times six of them, and judges whether their ratios are the same. What differs from
// round to round, and what the machine does for longer than a round, hits both ways alike.
func equivalence(ctx context.Context, w *work) error {
	s := newSides("turns", "whole")
	groups := []known{
		{hosts: 1, names: []string{"host", "bridge", "veth", "macvlan"}, how: []network.Driver{kernel.Host(), kernel.Bridge(), kernel.Veth(), kernel.Macvlan()}},
		{hosts: 2, names: []string{"native", "vxlan"}, how: []network.Driver{kernel.Native(), kernel.VXLAN()}},
	}
	w.total = w.size * len(groups)
	for pass := range w.size {
		for _, k := range groups {
			k.workloads, k.tools = []string{record.TCPStream, record.TCPRR}, []workload.Tool{engine.New(), whole{engine.New()}}
			k.turns, k.rounds, k.duration = true, roundsAtOnce, inTurns
			f, err := w.measured(ctx, fmt.Sprintf("equivalence-%s-%d", k.names[1], pass+1), k)
			if err != nil {
				return err
			}
			for side, tool := range []string{"engine", whole{}.Name()} {
				of := func(c record.Cell) bool { return c.Tool == tool }
				s.add(side, partOf(f, of, func(record.Trial) bool { return true }))
			}
		}
	}
	s.show()
	return nil
}

// inTurns is how long all slices of a network are, in a round.
const inTurns = 240 * time.Millisecond

// whole is a tool whose trials take a second each, and no turns.
type whole struct{ workload.Tool }

func (whole) Name() string { return "whole" }

func (w whole) Drives() []workload.Drive {
	all := slices.Clone(w.Tool.Drives())
	for i := range all {
		all[i].Turns = false
	}
	return all
}

func (w whole) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	job.Duration = time.Second
	return w.Tool.Run(ctx, job)
}
