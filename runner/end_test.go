package runner_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

func TestTrialThatCannotBeSavedEndsTheRun(t *testing.T) {
	full := errors.New("no space left on device")
	for name, f := range map[string]*way{
		"measured": {name: "bridge"},
		"failed":   {name: "bridge", connect: func(context.Context, int) error { return errGone }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(f, &way{name: "host"})
				saves := 0
				b.Save = func(record.Trial) error {
					saves++
					return full
				}
				end, err := b.run(t, t.Context())
				if !errors.Is(err, full) || end.Reason != record.EndFailed || !strings.Contains(end.Detail, full.Error()) || end.Rounds != 0 {
					t.Errorf("error is %v, end %+v", err, end)
				}
				if saves != 1 {
					t.Errorf("%d attempts to save, want 1", saves)
				}
			})
		})
	}
}

func TestNetworkThatCannotBeTakenDownEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "bridge", close: errGone})
		end, err := b.run(t, t.Context())
		if !errors.Is(err, errGone) || !strings.HasPrefix(err.Error(), "bridge: take down: ") || end.Reason != record.EndFailed {
			t.Errorf("error is %v, end %+v", err, end)
		}
		if len(b.trials) != 1 || b.trials[0].Status != record.OK {
			t.Errorf("the trial before has become %+v", b.trials)
		}
	})
}

// TestFrequencyAtTheEnd has CPUs with a governor that this machine has not.
func TestFrequencyAtTheEnd(t *testing.T) {
	for governor, want := range map[string]bool{"": false, "invented": true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(&way{name: "host"})
			if governor != "" {
				b.Machine.Power = &record.Power{Governors: []string{governor}}
			}
			end, err := b.run(t, t.Context())
			if err != nil || (end.Frequency != "") != want {
				t.Errorf("governor %q: %+v, %v", governor, end, err)
			}
		})
	}
}

func TestInterruptedTrialIsNoFailure(t *testing.T) {
	for name, stop := range map[string]func(b *bench, cancel func()){
		"in the window": func(b *bench, cancel func()) {
			b.tool.run = func(ctx context.Context, nth int64, job workload.Job) (workload.Result, error) {
				if nth == 3 {
					time.AfterFunc(job.Duration/2, cancel)
				}
				return b.tool.well(ctx, job)
			}
		},
		"while it is built": func(b *bench, cancel func()) {
			b.ways["bridge"].connect = func(ctx context.Context, nth int) error {
				if nth < 2 {
					return nil
				}
				cancel()
				<-ctx.Done()
				return ctx.Err()
			}
			b.Cells = b.Cells[1:]
			b.Cells = append(b.Cells, b.Cells[0])
			b.Cells[1].Family = 6
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b := newBench(&way{name: "host"}, &way{name: "bridge"})
				stop(b, cancel)
				end, err := b.run(t, ctx)
				ends(t, end, err, record.EndInterrupted, 1)
				if len(b.trials) != 2 {
					t.Errorf("%d trials, want the 2 of the first round", len(b.trials))
				}
				for _, tr := range b.trials {
					if tr.Status != record.OK {
						t.Errorf("%s: %s", tr.Status, tr.Reason)
					}
				}
			})
		})
	}
}

// TestTrialThatCannotBeTrue checks that a trial with impossible figures fails, and that the run continues.
func TestTrialThatCannotBeTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "bridge"}, &way{name: "host"})
		b.tool.change = func(nth int64, r *workload.Result) {
			if nth == 1 {
				r.Metrics[record.Throughput] = record.Metric{Value: math.NaN(), Unit: "bit/s"}
			}
		}
		end, err := b.run(t, t.Context())
		if err != nil || end.Reason == record.EndFailed {
			t.Errorf("the run ended with %+v, %v", end, err)
		}
		var bad []string
		for _, trial := range b.trials {
			if trial.Status != record.OK {
				bad = append(bad, string(trial.Status)+": "+trial.Reason)
			}
		}
		if len(b.trials) < 3 || len(bad) != 1 || bad[0] != "failed: the measured values are impossible: metrics.throughput.value is NaN; it must be from 0 to 1e+18" {
			t.Errorf("%d trials were saved; of these not OK: %q", len(b.trials), bad)
		}
	})
}
