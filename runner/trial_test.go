package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// idler is a daemon that uses no CPU time.
func idler(t *testing.T) []network.Daemon {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	iferr.Fatal(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for used := -1.0; ; { // until it sleeps
		now, _ := sampler.CPUTime(cmd.Process.Pid)
		if now == used {
			break
		}
		used = now
		time.Sleep(50 * time.Millisecond)
	}
	return []network.Daemon{{Name: "idler", Host: "h1", PID: cmd.Process.Pid}}
}

// TestTrialFailsWithOneLineThatSaysWhy makes tools, networks and cells fail.
func TestTrialFailsWithOneLineThatSaysWhy(t *testing.T) {
	fails := func(b *bench, run func(ctx context.Context, job workload.Job) error) {
		b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
			return workload.Result{Metrics: map[string]record.Metric{record.Throughput: {Value: 1}}}, run(ctx, job)
		}
	}
	idle := idler(t)
	for _, c := range []struct {
		name, want string
		fault      func(*bench, *way)
	}{
		{"tool fails", "client h1c2: connection refused; giving up", func(b *bench, _ *way) {
			fails(b, func(context.Context, workload.Job) error {
				return errors.New("client h1c2: connection refused\ngiving up")
			})
		}},
		{"tool hangs", "the trial took more than 1m0.05s beyond its window", func(b *bench, _ *way) {
			fails(b, func(ctx context.Context, _ workload.Job) error { <-ctx.Done(); return ctx.Err() })
		}},
		{"tool hangs and says why", "server h1c1: the trial took more than 1m0.05s beyond its window", func(b *bench, _ *way) {
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
		{"nothing said of the pair", "tool fake reported 1 figures, and the bytes exchanged by 0 of 1 pairs", func(b *bench, _ *way) {
			b.tool.change = func(_ int64, r *workload.Result) { r.Crossed = nil }
		}},
		{"no figures", "tool fake reported 0 figures", func(b *bench, _ *way) {
			b.tool.change = func(_ int64, r *workload.Result) { r.Metrics = nil }
		}},
		{"no tool", "no tool iperf9", func(b *bench, _ *way) { b.Cells[0].Tool = "iperf9" }},
		{"no path", "prove path: the network names no hop", func(_ *bench, f *way) { f.pathless = true }},
		{"impossible underlay", `"fast" is not part of a shape`, func(b *bench, _ *way) { b.Cells[0].Underlay = "fast,slow" }},
		{"underlay without a shape", "underlay fast has no shape; write its rate, as in fast:rate=1gbit", func(b *bench, _ *way) { b.Cells[0].Underlay = "fast" }},
		{"daemon has died", "CPU time of process 4194303", func(_ *bench, f *way) { f.daemons = []network.Daemon{{Name: "ghost", Host: "h1", PID: 1<<22 - 1}} }},
		{"daemon did not run", "it is not known whether the payload crossed idler: no CPU time was used there in the window", func(_ *bench, f *way) { f.daemons = idle }},
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

// It is not left open because a daemon that should have carried the payload does not tell.
func TestPayloadThatCannotHaveCrossedIsInvalid(t *testing.T) {
	idle := idler(t)
	for want, change := range map[string]func(*workload.Result){
		"path not proved: 1000 bytes crossed h1/br0, the payload was 5000":                  func(r *workload.Result) { r.Crossed[0].Bytes = 5000 }, // 1000 of them crossed
		"the link should let through 1 Mbit/s, and 80 Mbit/s of payload crossed it: it is ": func(r *workload.Result) { r.Bytes = 10e6 },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(&way{name: "bridge", daemons: idle})
			b.Cells[0].Hosts, b.Cells[0].Underlay = 2, "rate=1mbit"
			b.Settings.MaxRounds = 1
			b.tool.change = func(_ int64, r *workload.Result) { change(r) }
			end, err := b.run(t, t.Context())
			ends(t, end, err, record.EndMaxRounds, 1)
			if tr := b.trials[0]; tr.Status != record.Invalid || !strings.HasPrefix(tr.Reason, want) {
				t.Errorf("%s with reason %q, want invalid with %q", tr.Status, tr.Reason, want)
			}
		})
	}
}

// TestConnectionsUnderAnotherCongestionControl has a tool report the kernel's congestion control of its
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
		{"another one", "cubic", workload.Result{Flows: flow("bbr")}, "connections used congestion control bbr instead of the requested cubic"},
		{"another one at the other end", "", workload.Result{Congestion: []string{"bbr", "cubic"}, Flows: flow("bbr")},
			"connections used different congestion controls: bbr, cubic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(&way{name: "bridge"})
				b.Settings.MaxRounds, b.Settings.Congestion = 1, c.told
				b.tool.change = func(_ int64, r *workload.Result) {
					r.Congestion, r.Flows = c.result.Congestion, c.result.Flows
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

// TestLateStartIsRepeated has ends that hear too late when to start: in fewer attempts than a trial
// has, and in all of them.
func TestLateStartIsRepeated(t *testing.T) {
	for _, c := range []struct {
		late   int64 // attempts of each trial
		status record.Status
	}{{4, record.OK}, {5, record.Failed}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(&way{name: "bridge"})
			b.Settings.MaxRounds = 1
			var attempts atomic.Int64
			b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
				if (attempts.Add(1)-1)%5 < c.late {
					return workload.Result{}, fmt.Errorf("server h1c1: %w, by 53ms", workload.ErrLate)
				}
				return b.tool.well(ctx, job)
			}
			if _, err := b.run(t, t.Context()); err != nil {
				t.Fatal(err)
			}
			trials := b.of("bridge")
			if len(trials) != 1 || trials[0].Status != c.status || trials[0].Status == record.Failed && !strings.Contains(trials[0].Reason, "by 53ms") {
				t.Errorf("late %d times: %+v", c.late, trials)
			}
			if n := attempts.Load(); n%5 != 0 {
				t.Errorf("late %d times: %d attempts", c.late, n)
			}
		})
	}
}
