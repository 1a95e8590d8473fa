package runner_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// counted is an endpoint that uses a constant share of a CPU from its beginning on, and takes some
// time to report it.
type counted struct {
	place
	began time.Time
	share float64
	err   error
}

const telling = 300 * time.Millisecond

func (c *counted) Facts() platform.Facts { return platform.Facts{CPUTime: c.used} }

func (c *counted) used(context.Context) (time.Duration, error) {
	time.Sleep(telling / 2)
	used := time.Duration(c.share * float64(time.Since(c.began)))
	time.Sleep(telling / 2)
	return used, c.err
}

// stand is an endpoint that stands in for another one.
type stand struct{ platform.Endpoint }

// countedTrial returns the trial of a network of two servers and three clients whose endpoints are
// made by name.
func countedTrial(t *testing.T, endpoint func(name string) platform.Endpoint) record.Trial {
	t.Helper()
	b := newBench(&way{name: "docker:bridge", endpoint: endpoint})
	b.Cells[0].Servers, b.Cells[0].Clients, b.Cells[0].Processes = 2, 3, 2
	b.Settings.MaxRounds = 1
	end, err := b.run(t, t.Context())
	ends(t, end, err, record.EndMaxRounds, 1)
	if len(b.trials) != 1 || b.trials[0].Status != record.OK || b.trials[0].CPU == nil {
		t.Fatalf("%+v", b.trials)
	}
	return b.trials[0]
}

func TestCPUTimeOfContainersIsThatOfTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := map[string]*counted{}
		began := time.Now()
		tr := countedTrial(t, func(name string) platform.Endpoint {
			made[name] = &counted{place(name), began, float64(len(made)+1) / 4, nil}
			return &stand{made[name]}
		})
		if len(tr.CPU.Containers) != 5 {
			t.Fatalf("%d containers: %+v", len(tr.CPU.Containers), tr.CPU.Containers)
		}
		for _, c := range tr.CPU.Containers {
			want := made[c.Name].share * tr.Window
			if math.Abs(c.CPU-want) > 1e-6 {
				t.Errorf("%s used %v CPU seconds in a window of %v s, want %v", c.Name, c.CPU, tr.Window, want)
			}
			delete(made, c.Name)
		}
		if len(made) > 0 {
			t.Errorf("%v are missing", made)
		}
		// The window takes one second. Asking the five endpoints one after the other would take three more.
		if took := time.Since(began).Seconds(); took > 1+2*telling.Seconds()+0.8 {
			t.Errorf("the run took %v s", took)
		}
		if slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool { return w.Code == "container-cpu" }) {
			t.Errorf("warnings are %+v", tr.Warnings)
		}
	})
}

func TestContainerInBothRolesIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &counted{place("h1c1"), time.Now(), 0.5, nil}
		tr := countedTrial(t, func(string) platform.Endpoint { return one })
		if len(tr.CPU.Containers) != 1 || tr.CPU.Containers[0].Name != "h1c1" {
			t.Errorf("containers are %+v", tr.CPU.Containers)
		}
	})
}

func TestContainersOfWhichOneDoesNotTell(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		warn string
	}{
		"unsupported": {fmt.Errorf("h1c2: %w", platform.ErrUnsupported), ""},
		"broken":      {errGone, "the CPU time of containers is unknown: the network fell off the table"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := countedTrial(t, func(name string) platform.Endpoint {
					e := &counted{place(name), time.Now(), 0.5, nil}
					if name == "h1c2" {
						e.err = c.err
					}
					return e
				})
				if len(tr.CPU.Containers) > 0 {
					t.Errorf("containers are %+v", tr.CPU.Containers)
				}
				var said []string
				for _, w := range tr.Warnings {
					if w.Code == "container-cpu" {
						said = append(said, w.Text)
					}
				}
				if got := strings.Join(said, "; "); got != c.warn {
					t.Errorf("warned of %q, want %q", got, c.warn)
				}
			})
		})
	}
}

// rested is traffic of two pairs, each of two flows, of whose payload two thirds cross in the windows, except in turns that do not count.
type rested struct {
	w      *world
	job    workload.Job
	change func(each []workload.Result, together *workload.Result) // what is reported; may be nil
}

func (rested) Notice() time.Duration    { return 0 }
func (rested) Gap() time.Duration       { return 5 * time.Millisecond }
func (rested) Clocks() *workload.Clocks { return nil }
func (rested) Close()                   {}

func (r rested) Turns(_ context.Context, when workload.Turns) (each []workload.Result, together workload.Result, err error) {
	metrics := map[string]record.Metric{record.Throughput: record.Measured(record.Throughput, 1e6)}
	for i, begins := range when.Begins {
		time.Sleep(time.Until(begins))
		one := workload.Result{Window: r.job.Duration, Metrics: metrics, Crossed: []workload.Crossed{{Bytes: 900}, {Bytes: 2100}}}
		if i >= plan.Cold {
			one.Bytes, one.Flows = 2000, []record.Flow{{Bytes: 400}, {Bytes: 200}, {Bytes: 1000}, {Bytes: 400}}
			together.Window, together.Bytes = together.Window+one.Window, together.Bytes+one.Bytes
		} else {
			one.Crossed[1].Bytes = 9100
		}
		each = append(each, one)
		r.w.crossed.Add(one.Crossed[0].Bytes + one.Crossed[1].Bytes)
	}
	together.Metrics, together.Flows = metrics, each[len(each)-1].Flows
	if r.change != nil {
		r.change(each, &together)
	}
	return each, together, nil
}

// inThreeTurns returns a bench whose networks have three turns each of such traffic.
func inThreeTurns(change func(each []workload.Result, together *workload.Result), ways ...*way) *bench {
	b := newBench(ways...)
	for i := range b.Cells {
		b.Cells[i].Clients = 2
	}
	tool := b.Tools["fake"]
	tool.Drives[0].Turns = true
	tool.Stand = func(_ context.Context, job workload.Job) (workload.Standing, error) {
		return rested{b.w, job, change}, nil
	}
	b.Tools["fake"] = tool
	b.Settings.Turns, b.Settings.Congestion, b.Settings.MaxRounds, b.Settings.Duration = true, "cubic", 1, 0.3
	return b
}

// TestFiguresOfTurnsAreThoseOfTheirWindows checks the slices of a trial, and the CPU time of its containers: from one edge of a turn to
// the other they use half of a CPU, and the windows' share of that is their payload's.
func TestFiguresOfTurnsAreThoseOfTheirWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		share := func(name string) platform.Endpoint { return &busy{place(name), began} }
		b := inThreeTurns(nil, &way{name: "host", endpoint: share}, &way{name: "bridge", endpoint: share})
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 1)
		turn, first := plan.TurnOf(record.TCPStream, false), math.Inf(1)
		for _, tr := range b.trials {
			if tr.Status != record.OK || tr.CPU == nil || len(tr.Slices) != 3 || len(tr.CPU.Containers) != 3 {
				t.Fatalf("%+v", tr)
			}
			for _, c := range tr.CPU.Containers {
				if want := 3 * 0.5 * turn.Length().Seconds() * 2 / 3; math.Abs(c.CPU-want) > 1e-6 {
					t.Errorf("%s of %s used %v CPU seconds, want %v", c.Name, tr.Cell.Network, c.CPU, want)
				}
			}
			for _, s := range tr.Slices {
				first = min(first, s.At)
				if places := s.At / turn.Length().Seconds(); s.Bytes != 2000 || s.Window != turn.Slice.Seconds() || math.Abs(places-math.Round(places)) > 1e-6 {
					t.Errorf("a slice of %s is %+v", tr.Cell.Network, s)
				}
			}
		}
		if len(b.trials) != 2 || first != 0 {
			t.Errorf("%d trials, of which the first slice is at %v s", len(b.trials), first)
		}
	})
}

// TestWhatIsNotKnownOfTurns has turns of networks with a daemon of which not everything can be said.
func TestWhatIsNotKnownOfTurns(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(each []workload.Result, together *workload.Result)
		slow          bool // it takes longer to read containers than there is until the next turn
		cost, resting bool // whether these are known: what the traffic cost, and what the daemon uses when it rests
		code, fails   string
	}{
		"all is known": {cost: true, resting: true},
		"payload was on its way when turns had ended": {cost: true, change: func(_ []workload.Result, together *workload.Result) {
			together.Warnings = []record.Warning{{Code: workload.WarnOverran}}
		}, code: workload.WarnOverran},
		"clients spin":  {resting: true, change: func(_ []workload.Result, together *workload.Result) { together.Spins = true }, code: "spinning-generator"},
		"read too late": {slow: true, code: "cpu-late"},
		"nothing crossed": {fails: "nothing crossed in 3 turns", change: func(each []workload.Result, _ *workload.Result) {
			for i := range each {
				clear(each[i].Crossed)
			}
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			end := func(name string) platform.Endpoint {
				if c.slow {
					return &counted{place(name), began, 0.5, nil}
				}
				return &busy{place(name), began}
			}
			change := func(each []workload.Result, together *workload.Result) {
				together.Client.User = 0.1
				if c.change != nil {
					c.change(each, together)
				}
			}
			daemons := []network.Daemon{{Name: "daemon", Host: "h1", PID: os.Getpid()}}
			b := inThreeTurns(change, &way{name: "host", endpoint: end, daemons: daemons}, &way{name: "bridge", endpoint: end, daemons: daemons})
			_, err := b.run(t, t.Context())
			iferr.Fatal(t, err)
			if len(b.trials) != 2 {
				t.Fatalf("%s: %d trials", name, len(b.trials))
			}
			for _, tr := range b.trials {
				if c.fails != "" {
					if tr.Status != record.Failed || tr.Reason != c.fails {
						t.Errorf("%s: %s, %q", name, tr.Status, tr.Reason)
					}
					continue
				}
				_, cost := tr.Metrics[record.CPUPerGB]
				if tr.Status != record.OK || cost != c.cost || (tr.CPU.Resting != nil) != c.resting || c.code != "" && !slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool { return w.Code == c.code }) {
					t.Errorf("%s: %s, %q: %v, %+v, %v", name, tr.Status, tr.Reason, tr.Metrics, tr.CPU, tr.Warnings)
				}
			}
		})
	}
}

// busy is an endpoint that uses half of a CPU from its beginning on.
type busy struct {
	place
	began time.Time
}

func (b *busy) Facts() platform.Facts {
	return platform.Facts{CPUTime: func(context.Context) (time.Duration, error) { return time.Since(b.began) / 2, nil }}
}
