package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"nettoll/internal/await"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/sampler"
)

// watchIdle watches the idle machine for a while, for the next round.
//
// Each round has its own baseline, so that the baseline's error varies from round to round like
// everything else and is part of the intervals. A single baseline would shift all rounds by the
// same error, which no interval would show.
func (r *Runner) watchIdle(ctx context.Context, while time.Duration) error {
	if r.Unwatched {
		return nil
	}
	from, err := r.cpu.Read()
	if err != nil {
		return err
	}
	if len(from.Idle) == 0 { // the clock is ticks of 10 ms only
		while *= 3
	}
	if await.Sleep(ctx, while) != nil {
		return nil
	}
	to, err := r.cpu.Read()
	if err != nil {
		return err
	}
	r.spent += while
	return errors.Join(r.ahead.Watch(from, to), r.watched.Watch(from, to))
}

// watchStanding watches the idle machine while networks of a group stand that have been measured, once a round, unless one
// of them disturbs whatever stands beside it. Right after they have been taken down would be too early; see leftover.
func (r *Runner) watchStanding(ctx context.Context, g plan.Group) error {
	apart := func(v plan.Visit) bool { return r.can.Rooms[v.Network].Apart }
	if r.ahead.Watched > 0 || ctx.Err() != nil || r.hurry() || slices.ContainsFunc(g.Visits, apart) {
		return nil
	}
	return r.watchIdle(ctx, plan.IdleWatched)
}

// leftover is how long the kernel goes on removing networks that have been taken down: it frees namespaces after grace
// periods of RCU. Four networks of the lab take a tenth of a CPU for as long.
const leftover = 500 * time.Millisecond

// baseline sets what the idle machine uses in the round that begins. If it could not be watched in the round before, it is
// watched now.
func (r *Runner) baseline(ctx context.Context) error {
	if r.ahead.Watched == 0 && !r.Unwatched && await.Sleep(ctx, time.Until(r.down.Add(leftover))) == nil {
		if err := r.watchIdle(ctx, plan.IdleWatched); err != nil {
			return err
		}
	}
	r.idle, r.ahead, r.distant = r.ahead, sampler.Baseline{}, map[string]*sampler.Baseline{}
	return nil
}

// ownTolerance is the factor by which the clocks of processes may exceed the busy time of the
// machine. On a quiet machine they differ by 2 %.
const ownTolerance = 1.05

// cost adds the CPU cost of the traffic: CPU time of the whole machine, minus what the idle
// machine uses, per 1e9 bytes of payload or per transaction. Transactions are those of the rate: flows count whole ones.
// Traffic that has both gets no such cost, because its CPU time cannot be divided between them.
//
// The cost is at least what client, server and daemons used by their own clocks. A trial with a
// smaller difference is kept, with that minimum: leaving it out would favour expensive trials. If
// the difference is smaller by more than ownTolerance, the machine was not idle while it was
// watched, and a warning says so.
func cost(t *record.Trial, bytes float64) {
	transactions := t.Metrics[record.TransactionRate].Value * t.Window
	busy := t.CPU.Machine.Busy - t.CPU.Idle*t.Window
	own := t.CPU.Processes()
	t.Warnings = append(t.Warnings, record.Warn(own > busy*ownTolerance, record.WarnIdleBusy,
		"the machine was too busy while its idle CPU use was measured: the CPU cost counts only client, server and daemons, so it is a lower bound")...)
	switch spent := max(busy, own); {
	case spent <= 0 || record.Mixed(t.Cell.Workload):
	case transactions > 0:
		t.Metrics[record.CPUPerTransaction] = record.Measured(record.CPUPerTransaction, spent/transactions)
	case bytes > 0:
		t.Metrics[record.CPUPerGB] = record.Measured(record.CPUPerGB, spent/(bytes/1e9))
	}
}

// addShares adds the average throughput of a client, if there are several, and how evenly the
// flows share the network.
func addShares(t *record.Trial) {
	if total, ok := t.Metrics[record.Throughput]; ok && t.Cell.Pairs() > 1 {
		t.Metrics[record.ThroughputPerClient] = record.Measured(record.ThroughputPerClient, total.Value/float64(t.Cell.Pairs()))
	}
	if index, ok := record.Jain(t.Flows); ok {
		t.Metrics[record.Fairness] = record.Measured(record.Fairness, index)
	}
}
