package runner_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

func TestEveryRoundHasEveryNetworkOnceAndNative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"bridge", "host", "macvlan", "veth"}
		var ways []*way
		for _, n := range names {
			ways = append(ways, &way{name: n})
		}
		b := newBench(ways...)
		b.Settings.MaxRounds = 6
		watch := &follower{}
		b.Watch = watch
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 6)
		rounds := map[int][]string{}
		for _, tr := range b.trials {
			rounds[tr.Round] = append(rounds[tr.Round], tr.Cell.Network)
			if tr.Status != record.OK || tr.Metrics[record.Throughput].Value != 8000 || tr.Window != 1 {
				t.Errorf("%s: %s, %v in %v s", tr.Cell.Network, tr.Status, tr.Metrics, tr.Window)
			}
			if want := map[bool]float64{true: 0.5, false: 0.1}[tr.Round == 1]; math.Abs(tr.CPU.Watched-want) > 0.05 {
				t.Errorf("round %d has a baseline of %v s, want %v of its own", tr.Round, tr.CPU.Watched, want)
			}
			if tr.Started.Location() != time.UTC || tr.CPU == nil || len(tr.Endpoints) != 2 {
				t.Errorf("incomplete: %+v", tr)
			}
		}
		orders := map[string]bool{}
		for round := 1; round <= 6; round++ {
			orders[joined(rounds[round])] = true
			slices.Sort(rounds[round])
			if !slices.Equal(rounds[round], names) {
				t.Errorf("round %d has %v, want %v", round, rounds[round], names)
			}
		}
		if len(orders) == 1 {
			t.Errorf("all rounds had the same order %v", orders)
		}
		for _, n := range names {
			if b.w.probes[n] != 1 || b.w.builds[n] != 6 {
				t.Errorf("%s was probed %d times and built %d times, want 1 and 6", n, b.w.probes[n], b.w.builds[n])
			}
		}
		if watch.rounds != 6 || watch.announced != 24 || watch.begun != 24 || watch.finished != 24 {
			t.Errorf("who watched was told %+v, want 6 rounds and 24 of each", watch)
		}
		// 24 trials of 1 s, and the idle machine before the first round (0.5 s) and in each (0.1 s).
		if want := 24 + 0.5 + 6*0.1; math.Abs(end.Measuring-want) > 1e-9 {
			t.Errorf("%v s of measuring, want %v", end.Measuring, want)
		}
	})
}

// TestWhenTheIdleMachineIsWatched checks that the idle machine is watched while measured networks still stand, and that only
// if one of them disturbs what stands beside it, it is watched before the next round, once the kernel has removed them.
func TestWhenTheIdleMachineIsWatched(t *testing.T) {
	for _, apart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(&way{name: "bridge", apart: apart})
			var measured time.Time // in the round before
			var standing, after []time.Duration
			save := b.Save
			b.Save = func(tr record.Trial) error {
				if tr.Round > 1 {
					standing, after = append(standing, b.w.closed.Sub(measured)), append(after, b.w.built.Sub(b.w.closed))
				}
				measured = time.Now()
				return save(tr)
			}
			end, err := b.run(t, t.Context())
			ends(t, end, err, record.EndMaxRounds, 3)
			for i := range standing { // how long it is watched depends on the clock of idle time
				if stood := standing[i] > 0; stood == apart {
					t.Errorf("apart %v: it was taken down %v after the measurement", apart, standing[i])
				}
				if least := 500 * time.Millisecond; apart && after[i] <= least || !apart && after[i] > 0 {
					t.Errorf("apart %v: the next was built %v after it had been taken down", apart, after[i])
				}
			}
			if len(standing) != 2 {
				t.Errorf("apart %v: %d later rounds, want 2", apart, len(standing))
			}
		})
	}
}

func joined(names []string) (s string) {
	for _, n := range names {
		s += n + " "
	}
	return s
}

type follower struct{ rounds, announced, begun, finished int }

func (f *follower) Round(_, trials int) { f.rounds++; f.announced += trials }

func (f *follower) Begin([]record.Cell) { f.begun++ }

func (f *follower) Trial(record.Trial) { f.finished++ }

func TestNetworkIsBuiltOnceForAllItsCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "bridge"})
		for _, family := range []int{6} {
			c := b.Cells[0]
			c.Family = family
			b.Cells = append(b.Cells, c)
		}
		shaped := b.Cells[0]
		shaped.Underlay = "rate=1gbit"
		b.Cells = append(b.Cells, shaped)
		b.Settings.MaxRounds = 2
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 2)
		if b.w.builds["bridge"] != 4 || len(b.trials) != 6 {
			t.Errorf("%d networks for %d trials, want 4 for 6", b.w.builds["bridge"], len(b.trials))
		}
	})
}

func TestSuccessAfterAFailedTrialInTheSameNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "bridge"})
		b.tool.run = func(ctx context.Context, nth int64, job workload.Job) (workload.Result, error) {
			if nth == 1 {
				return workload.Result{}, errGone
			}
			return b.tool.well(ctx, job)
		}
		six := b.Cells[0]
		six.Family = 6
		b.Cells = append(b.Cells, six)
		b.Settings.MaxRounds = 1
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 1)
		if len(b.trials) != 2 || b.trials[0].Status != record.Failed || b.trials[1].Status != record.OK || b.w.builds["bridge"] != 1 {
			t.Errorf("trials are %+v in %d networks", b.trials, b.w.builds["bridge"])
		}
	})
}
