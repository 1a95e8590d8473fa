package runner

import (
	"context"
	"slices"
	"time"

	"nettoll/record"
	"nettoll/sampler"
)

// How long the idle machine is watched before the first round, and before each
// other one.
const (
	idleBefore  = 500 * time.Millisecond
	idleBetween = 100 * time.Millisecond
)

// watchIdle watches the idle machine for a while. What it used by itself is the
// median of all such whiles, so that something that ran in one of them does not
// spoil the cost of all trials.
func (r *Runner) watchIdle(ctx context.Context, while time.Duration) error {
	if r.Unwatched {
		return nil
	}
	used, err := r.idleUse(ctx, while)
	if err != nil || ctx.Err() != nil {
		return err
	}
	r.spent += while
	r.idles = append(r.idles, used)
	slices.Sort(r.idles)
	r.idle = r.idles[(len(r.idles)-1)/2]
	return nil
}

// idleUse is how many CPU seconds a second the machine uses by itself.
func (r *Runner) idleUse(ctx context.Context, while time.Duration) (float64, error) {
	from, err := r.cpu.Read()
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, nil
	case <-time.After(while):
	}
	to, err := r.cpu.Read()
	if err != nil {
		return 0, err
	}
	use, err := sampler.Use(from, to, 1)
	return use.Busy, err
}

// ownTolerance is by how much the clocks of processes and the idle time of the machine may
// disagree. On a quiet machine it is 2 %.
const ownTolerance = 1.05

// cost adds what the traffic cost: CPU time of the whole machine, less what it
// uses when idle, for each 1e9 bytes of payload and for each transaction. Where that is
// less than what client, server and daemons used by their own clocks, the machine was not
// idle when it should have been, and there is no such cost to tell: that is a warning, not a number.
func cost(metrics map[string]record.Metric, use record.CPUUse, idle float64, window time.Duration, bytes, transactions uint64) []record.Warning {
	busy := use.Machine.Busy - idle*window.Seconds()
	own := use.Client.Total() + use.Server.Total()
	for _, d := range use.Daemons {
		own += d.Total()
	}
	if busy <= 0 || own > busy*ownTolerance {
		return []record.Warning{{Code: "idle-was-busy", Text: "the machine was busy before the run, when it should have been idle, by more than the traffic leaves room for: CPU cost is unknown"}}
	}
	if transactions > 0 {
		metrics[record.CPUPerTransaction] = record.Metric{Value: busy / float64(transactions), Unit: "cpu-s"}
	} else if bytes > 0 {
		metrics[record.CPUPerGB] = record.Metric{Value: busy / (float64(bytes) / 1e9), Unit: "cpu-s/GB"}
	}
	return nil
}
