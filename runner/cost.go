package runner

import (
	"context"
	"errors"
	"time"

	"nettoll/record"
)

// watchIdle watches the idle machine for a while, for the round that comes next.
//
// Each round has a baseline of its own, so that the error of a baseline varies from round
// to round as everything else does, and is in the intervals. One for all rounds would be
// off by as much in all of them, and no interval would know.
func (r *Runner) watchIdle(ctx context.Context, while time.Duration) error {
	if r.Unwatched {
		return nil
	}
	from, err := r.cpu.Read()
	if err != nil {
		return err
	}
	if len(from.Idle) == 0 { // by ticks of 10 ms alone
		while *= 3
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(while):
	}
	to, err := r.cpu.Read()
	if err != nil {
		return err
	}
	r.spent += while
	return errors.Join(r.ahead.Watch(from, to), r.watched.Watch(from, to))
}

// ownTolerance is by how much the clocks of processes and the idle time of the machine may
// disagree. On a quiet machine it is 2 %.
const ownTolerance = 1.05

// cost adds what the traffic cost: CPU time of the whole machine, less what it
// uses when idle (CPU seconds a second), for each 1e9 bytes of payload or for each transaction. Traffic that has
// both has no such cost: nobody knows which of its CPU time is whose.
//
// It is no less than what client, server and daemons used by their own clocks. A trial in
// which the difference is less keeps its place below the others: to leave it out would
// favour the dear ones. Where the difference is much less, the machine was not idle when it
// should have been, and a warning says so.
func cost(t *record.Trial, idle, bytes, transactions float64) {
	busy := t.CPU.Machine.Busy - idle*t.Window
	own := t.CPU.Client.Total() + t.CPU.Server.Total()
	for _, d := range t.CPU.Daemons {
		own += d.Total()
	}
	if own > busy*ownTolerance {
		t.Warnings = append(t.Warnings, record.Warning{Code: "idle-was-busy", Text: "the machine did more while it was watched idle than it did beside the trial: the CPU cost is that of client, server and daemons alone, the least that it can be"})
	}
	switch spent := max(busy, own); {
	case spent <= 0 || record.Mixed(t.Cell.Workload):
	case transactions > 0:
		t.Metrics[record.CPUPerTransaction] = record.Measured(record.CPUPerTransaction, spent/transactions)
	case bytes > 0:
		t.Metrics[record.CPUPerGB] = record.Measured(record.CPUPerGB, spent/(bytes/1e9))
	}
}
