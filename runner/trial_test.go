package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"nettoll/network"
	"nettoll/record"
	"nettoll/workload"
)

// TestTrialFailsWithOneLineThatSaysWhy has tools, networks and cells go wrong.
func TestTrialFailsWithOneLineThatSaysWhy(t *testing.T) {
	well := func(b *bench, change func(*workload.Result)) {
		b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
			r, err := b.tool.well(ctx, job)
			change(&r)
			return r, err
		}
	}
	fails := func(b *bench, run func(ctx context.Context, job workload.Job) error) {
		b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
			return workload.Result{Metrics: map[string]record.Metric{record.Throughput: {Value: 1}}}, run(ctx, job)
		}
	}
	for _, c := range []struct {
		name, want string
		fault      func(*bench, *way)
	}{
		{"tool fails", "client h1c2: connection refused; giving up", func(b *bench, _ *way) {
			fails(b, func(context.Context, workload.Job) error {
				return errors.New("client h1c2: connection refused\ngiving up")
			})
		}},
		{"tool hangs", "the trial took more than 20.05s beyond its window", func(b *bench, _ *way) {
			fails(b, func(ctx context.Context, _ workload.Job) error { <-ctx.Done(); return ctx.Err() })
		}},
		{"tool hangs and says why", "server h1c1: the trial took more than 20.05s beyond its window", func(b *bench, _ *way) {
			fails(b, func(ctx context.Context, _ workload.Job) error {
				<-ctx.Done()
				return fmt.Errorf("server h1c1: %w", context.Cause(ctx))
			})
		}},
		{"window never opened", "no time passed between two readings of CPU time", func(b *bench, _ *way) {
			b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
				job.Watch = workload.Watch{Open: func() {}, Close: func() {}}
				return b.tool.well(ctx, job)
			}
		}},
		{"nothing said of the pair", "tool fake gave 1 figures, and said of 0 of 1 pairs", func(b *bench, _ *way) {
			well(b, func(r *workload.Result) { r.Crossed = nil })
		}},
		{"no figures", "tool fake gave 0 figures", func(b *bench, _ *way) {
			well(b, func(r *workload.Result) { r.Metrics = nil })
		}},
		{"no tool", "no tool iperf9", func(b *bench, _ *way) { b.Cells[0].Tool = "iperf9" }},
		{"no path", "prove path: the network names no hop", func(_ *bench, f *way) { f.pathless = true }},
		{"impossible underlay", `"fast" is not part of a shape`, func(b *bench, _ *way) { b.Cells[0].Underlay = "fast,slow" }},
		{"underlay without a shape", "underlay fast has no shape; write its rate, as in fast:rate=1gbit", func(b *bench, _ *way) { b.Cells[0].Underlay = "fast" }},
		{"daemon has died", "CPU time of process 4194303", func(_ *bench, f *way) { f.daemons = []network.Daemon{{Name: "ghost", Host: "h1", PID: 1<<22 - 1}} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &way{name: "bridge"}
				b := newBench(f)
				b.Settings.MaxRounds = 1
				c.fault(b, f)
				end, err := b.run(t, t.Context())
				ends(t, end, err, record.EndMaxRounds, 1)
				if len(b.trials) != 1 {
					t.Fatalf("%d trials, want 1", len(b.trials))
				}
				tr := b.trials[0]
				if tr.Status != record.Failed || !strings.Contains(tr.Reason, c.want) || strings.Contains(tr.Reason, "\n") {
					t.Errorf("%s with reason %q, want failed with one line that says %q", tr.Status, tr.Reason, c.want)
				}
				if tr.Metrics != nil || tr.Latency != nil {
					t.Errorf("a failed trial has figures: %v, %v", tr.Metrics, tr.Latency)
				}
			})
		})
	}
}

func TestPayloadThatLeftNoTraceIsInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "bridge"})
		b.Settings.MaxRounds = 1
		b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
			r, err := b.tool.well(ctx, job)
			r.Crossed[0].Bytes = 5000 // of which 1000 crossed
			return r, err
		}
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 1)
		want := "path not proved: 1000 bytes crossed h1/br0, the payload was 5000"
		if tr := b.trials[0]; tr.Status != record.Invalid || tr.Reason != want {
			t.Errorf("%s with reason %q, want invalid with %q", tr.Status, tr.Reason, want)
		}
	})
}

// TestConnectionsUnderAnotherCongestionControl has a tool tell what the kernel said of its
// connections, at either end.
func TestConnectionsUnderAnotherCongestionControl(t *testing.T) {
	flow := func(control string) []record.Flow { return []record.Flow{{TCP: &record.TCPInfo{Congestion: control}}} }
	for _, c := range []struct {
		name, told string
		result     workload.Result
		want       string // why it is invalid
	}{
		{"as told", "cubic", workload.Result{Congestion: []string{"cubic"}, Flows: flow("cubic")}, ""},
		{"the machine's own", "", workload.Result{Congestion: []string{"bbr"}, Flows: flow("bbr")}, ""},
		{"nothing is known", "cubic", workload.Result{}, ""},
		{"another one", "cubic", workload.Result{Flows: flow("bbr")}, "connections were under congestion control bbr, and cubic was asked for"},
		{"another one at the other end", "", workload.Result{Congestion: []string{"bbr", "cubic"}, Flows: flow("bbr")},
			"connections were under several congestion controls: bbr, cubic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(&way{name: "bridge"})
				b.Settings.MaxRounds, b.Settings.Congestion = 1, c.told
				b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
					r, err := b.tool.well(ctx, job)
					r.Congestion, r.Flows = c.result.Congestion, c.result.Flows
					return r, err
				}
				if _, err := b.run(t, t.Context()); err != nil {
					t.Fatal(err)
				}
				want := record.OK
				if c.want != "" {
					want = record.Invalid
				}
				if tr := b.trials[0]; tr.Status != want || tr.Reason != c.want {
					t.Errorf("%s with reason %q, want %s with %q", tr.Status, tr.Reason, want, c.want)
				}
			})
		})
	}
}
