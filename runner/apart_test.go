package runner

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// idling returns a snapshot of a machine with one CPU at a second of an invented clock, after the
// given idle time.
func idling(second, idle float64) sampler.Snapshot {
	return sampler.Snapshot{At: time.Unix(0, int64(second*1e9)), CPUs: map[int64]procfs.CPUStat{0: {Idle: idle}}}
}

// named is an endpoint without a place.
type named string

func (n named) Name() string        { return string(n) }
func (named) OnHost() string        { return "" }
func (named) Facts() platform.Facts { return platform.Facts{} }
func (named) Start(context.Context, platform.Command) (platform.Process, error) {
	return nil, platform.ErrUnsupported
}

func TestMachinesApart(t *testing.T) {
	a, b := &machine{name: "machine 1", idle: &sampler.Baseline{Busy: 0.1, Watched: 0.4}}, &machine{name: "machine 2", idle: &sampler.Baseline{Busy: -0.1, Watched: 1}}
	m := &machines{all: []*machine{a, b}}
	from, to := []sampler.Snapshot{idling(1, 0), idling(1, 0)}, []sampler.Snapshot{idling(3, 0.5), idling(3, 2)}
	w := watcher{at: m, turns: []turnUse{{from: edge{machines: from}, to: edge{machines: to}}}}
	use, _, err := w.use(2, 0.25)
	got := use.Hosts
	want := []record.HostCPU{{Host: "machine 1", Busy: 1.5, Idle: 0.25}, {Host: "machine 2"}}
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range want {
		if got[i].Host != want[i].Host || math.Abs(got[i].Busy-want[i].Busy) > 1e-9 || got[i].Idle != want[i].Idle {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	var cpus []record.CPUSample
	for _, one := range use.Machine.PerCPU {
		cpus = append(cpus, record.CPUSample{Host: one.Host, CPU: one.CPU, Idle: one.Idle})
	}
	if want := []record.CPUSample{{Host: "machine 1", Idle: 0.5}, {Host: "machine 2", Idle: 2}}; !slices.Equal(cpus, want) {
		t.Errorf("CPUs %+v, want %+v", cpus, want)
	}
	// The second one's agent answers late, so that more of what it does is seen.
	twice := idling(5, 2) // of 4 s: 1.5 s busy, of which 1 s on packets
	twice.CPUs[0] = procfs.CPUStat{Idle: 2, SoftIRQ: 1, Steal: 0.5}
	from[0].Clock, to[0].Clock = sampler.ClockTimerList, sampler.ClockTimerList // finer than the other one's
	late := []turnUse{{from: edge{machines: from}, to: edge{machines: []sampler.Snapshot{to[0], twice}}}}
	sum, apart, seconds, err := m.use(late)
	if err != nil || seconds != 2 || sum.Clock != sampler.ClockStat ||
		!slices.Equal([]float64{sum.Busy, sum.Softirq, sum.Steal, sum.PerCPU[1].Idle, apart[1].Busy}, []float64{2.25, 0.5, 0.25, 1, 0.75}) {
		t.Errorf("in %v s: %+v, of which %+v, %v", seconds, sum, apart, err)
	}
	if idle, watched := m.idle(); math.Abs(idle-0.15) > 1e-9 || watched != 0.4 {
		t.Errorf("%v CPU seconds a second when idle, watched for %v s", idle, watched)
	}
	client, server := &AgentEndpoint{Endpoint: named("c")}, &AgentEndpoint{Endpoint: named("s")}
	m.of = map[*AgentEndpoint]*machine{client: b, server: a}
	ends := []record.Endpoint{{Role: "client", Host: "h2"}, {Role: "server", Host: "h1"}}
	m.describe(ends, []link{{client: client, server: server}})
	if ends[0].Host != "machine 2" || ends[1].Host != "machine 1" {
		t.Errorf("endpoints are on %q and %q", ends[0].Host, ends[1].Host)
	}
	// A single machine is not recorded separately: its hosts are parts of it.
	m = &machines{all: []*machine{a}}
	w = watcher{at: m, turns: []turnUse{{from: edge{machines: from[:1]}, to: edge{machines: to[:1]}}}}
	if use, _, err := w.use(2, 0.25); use.Hosts != nil || err != nil || len(use.Machine.PerCPU) != 1 || use.Machine.PerCPU[0].Host != "" {
		t.Errorf("%+v, CPUs %+v, %v", use.Hosts, use.Machine.PerCPU, err)
	}
	m.describe(ends, nil)
	if ends[0].Host != "machine 2" {
		t.Errorf("renamed to %q", ends[0].Host)
	}
}

// TestTurnsThatWereReadLate checks that a turn at whose edge another turn had begun is left out of
// the network's CPU time, that the others stand for it, even if less or more crossed in them, and that nothing is claimed where all
// are such turns, or where CPUs would have been busy for more than all of the time.
func TestTurnsThatWereReadLate(t *testing.T) {
	idle := &sampler.Baseline{Watched: 1}
	read := func(second, idle, by float64) edge {
		e := edge{machines: []sampler.Snapshot{idling(second, idle)}}
		e.lateBy(time.Duration(by * 1e9))
		return e
	}
	second := turnUse{from: read(2, 0.6, -1), to: read(3, 1, -1), crossed: 300, counted: 225, window: 0.75} // 0.6 s busy
	for _, c := range []struct {
		name  string
		turns []turnUse
		want  float64 // 0: not known
	}{
		{"none", []turnUse{{from: read(0, 0, -1), to: read(1, 0.6, -1), crossed: 100, counted: 75, window: 0.75}, second}, 0.75},
		{"the second turn's end", []turnUse{
			{from: read(0, 0, -1), to: read(1, 0.6, -1), crossed: 100, counted: 75, window: 0.75},
			{from: read(2, 0.6, -1), to: read(3, 1, 0.1), crossed: 300, counted: 225, window: 0.75}, // part of it another network's
		}, 0.6},
		{"all by a little", []turnUse{
			{from: read(0, 0, 0.01), to: read(1, 0.6, 0.02), crossed: 100, counted: 75, window: 0.75},
			{from: read(2, 0.6, 0.01), to: read(3, 1, 0.02), crossed: 300, counted: 225, window: 0.75},
		}, 0.75},
		{"all by a little, one when it was over", []turnUse{
			{from: read(0, 0, 0.01), to: read(1, 0.6, 0.01), crossed: 100, counted: 75, window: 0.75},
			{from: read(2, 0.6, 0.01), to: read(2.01, 0.6, 0.01), crossed: 100, counted: 75, window: 0.75},
		}, 0.6},
		{"all", []turnUse{
			{from: read(0, 0, 0.5), to: read(1, 0.6, -1), crossed: 100, counted: 75, window: 0.75},
			{from: read(2, 0.6, 0.5), to: read(3, 1, -1), crossed: 300, counted: 225, window: 0.75},
		}, 0},
		{"all but one, in which nothing crossed", []turnUse{
			{from: read(0, 0, -1), to: read(1, 0.6, 0.5), crossed: 100, counted: 75, window: 0.75},
			{from: read(2, 0.6, -1), to: read(3, 1, -1), window: 0.75},
		}, 0},
		{"none, and the machine was held up", []turnUse{
			{from: read(0, 0, -1), to: read(4, 0, -1), crossed: 100, counted: 75, window: 0.75}, second,
		}, 0},
	} {
		w := watcher{at: &machines{all: []*machine{{idle: idle}}}, turns: c.turns}
		use, doubts, err := w.use(1.5, 0)
		unknown := slices.ContainsFunc(doubts, func(d record.Warning) bool { return d.Code == "cpu-late" })
		if err != nil || math.Abs(use.Machine.Busy-c.want) > 1e-9 || unknown != (c.want == 0) || (len(use.Machine.PerCPU) == 0) != unknown {
			t.Errorf("late: %s: %v CPU seconds, %v, %v, want %v", c.name, use.Machine.Busy, doubts, err, c.want)
		}
	}
	// Of each turn that counts it is known by itself.
	w := watcher{at: &machines{all: []*machine{{idle: idle}}}}
	if got := w.spent(second, 0.2); got == nil || math.Abs(*got-0.3) > 1e-9 {
		t.Errorf("%v CPU seconds in a turn's window, want 0.3", got)
	}
	if got := w.spent(second, 0.8); got == nil || *got >= 0 {
		t.Errorf("%v CPU seconds in the window of a turn in which the machine was less idle than before", got)
	}
	if got := w.spent(turnUse{from: second.from, to: second.to}, 0.2); got != nil {
		t.Errorf("%v CPU seconds in a turn in which nothing crossed", *got)
	}
	// A slice has all of its flows, and such a cost if it was read in time and the trial has one.
	one := workload.Result{Flows: []record.Flow{{Bytes: 1, Transactions: 2}, {Bytes: 3, Transactions: 4}}}
	w.turns = []turnUse{second, {from: read(4, 1, -1), to: read(5, 1.4, 0.1), crossed: 300, counted: 225, window: 0.75}}
	p := &player{attempt: &attempt{watch: &w, t: &record.Trial{CPU: &record.CPUUse{}}}, each: []workload.Result{{}, one, one}, begins: make([]time.Time, 3)}
	for _, known := range []bool{false, true} {
		all := p.slicesFrom(time.Time{})
		if len(all) != 2 || (all[0].CPU != nil) != known || all[1].CPU != nil || all[1].Bytes != 4 || all[1].Transactions != 6 {
			t.Errorf("the trial's cost is known: %v; slices are %+v", known, all)
		}
		p.t.CPU.Machine.PerCPU = make([]record.CPUSample, 1)
	}
	e := read(0, 0, 0.5) // of the first of two machines
	if e.lateBy(-time.Second); !e.late || e.by != 0.5 {
		t.Errorf("late: %v, by %v s, want 0.5", e.late, e.by)
	}
	// Machines are told apart even so.
	late := func(second, idle float64) edge {
		e := edge{machines: []sampler.Snapshot{idling(second, idle), idling(second, idle)}}
		e.lateBy(time.Second)
		return e
	}
	w = watcher{at: &machines{all: []*machine{{name: "a", idle: idle}, {name: "b", idle: idle}}}, turns: []turnUse{{from: late(0, 0), to: late(1, 0.6), window: 0.75}}}
	if use, _, err := w.use(0.75, 0); err != nil || !slices.Equal(use.Hosts, []record.HostCPU{{Host: "a"}, {Host: "b"}}) || use.Machine.Known() {
		t.Errorf("%+v, %v", use, err)
	}
}

// TestShareOfTheWindowInATurn has a turn of a second, in whose window of half a second three quarters of its payload crossed: the window
// has as much of what was used for the traffic, and half of what is used in any case.
func TestShareOfTheWindowInATurn(t *testing.T) {
	idle := &sampler.Baseline{Busy: 0.3, Watched: 1}
	read := func(second, idle, daemon float64) edge {
		used := []sampler.ProcessTime{sampler.Used(time.Unix(0, int64(second*1e9)), time.Duration(daemon*1e9))}
		return edge{machines: []sampler.Snapshot{idling(second, idle), idling(second, idle)}, daemons: used, nodes: [][]sampler.ProcessTime{used}}
	}
	w := watcher{
		at:      &machines{all: []*machine{{name: "a", idle: idle}, {name: "b", idle: idle}}},
		daemons: []network.Daemon{{Name: "flanneld", Host: "h1"}}, served: []served{{NodeDaemons: network.NodeDaemons{Names: []string{"kubelet"}}}},
		turns: []turnUse{{from: read(0, 0, 0), to: read(1, 0.2, 0.4), crossed: 100, counted: 75, window: 0.5}},
	}
	use, doubts, err := w.use(0.5, 0.6)
	if err != nil || len(doubts) > 0 || len(use.Hosts) != 2 || len(use.Daemons) != 1 || use.Daemons[0].Host != "h1" || len(use.NodeDaemons) != 1 {
		t.Fatalf("%+v, %v, %v", use, doubts, err)
	}
	one := 0.75*0.5 + 0.3*0.5 // of a machine
	for what, v := range map[string][2]float64{
		"both machines": {use.Machine.Busy, 2 * one}, "a": {use.Hosts[0].Busy, one}, "b": {use.Hosts[1].Busy, one},
		"the daemon": {use.Daemons[0].Total(), 0.75 * 0.4}, "the node's daemon": {use.NodeDaemons[0].CPU, 0.5 * 0.4},
	} {
		if math.Abs(v[0]-v[1]) > 1e-9 {
			t.Errorf("%s: %v CPU seconds, want %v", what, v[0], v[1])
		}
	}
}

// TestReadingsAreNoIdleUse has a machine work only while the hops of a network are read.
func TestReadingsAreNoIdleUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, busy := time.Now(), time.Duration(0)
		c := &machine{idle: &sampler.Baseline{}, read: func(context.Context) (sampler.Snapshot, error) {
			return idling(time.Since(began).Seconds(), (time.Since(began) - busy).Seconds()), nil
		}}
		h := mayBe("h1/eth0")
		h.Read = func(context.Context) (network.Count, error) {
			time.Sleep(10 * time.Millisecond)
			busy += 10 * time.Millisecond
			return network.Count{}, nil
		}
		m := &machines{all: []*machine{c}}
		iferr.Fatal(t, m.watchIdle(t.Context(), &proof{hops: []network.Hop{h}, before: make([]network.Count, 1)}))
		if rate, watched := m.idle(); math.Abs(rate) > 1e-6 || math.Abs(watched-0.25) > 1e-9 || busy == 0 {
			t.Errorf("%v CPU seconds a second in %v s", rate, watched)
		}
	})
}

// TestMachinesElsewhereAreWatchedMoreThanOnce checks that the observations of a machine before each
// trial of a round are combined, weighted by their lengths.
func TestMachinesElsewhereAreWatchedMoreThanOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, idle := time.Now(), 0.0
		c := &machine{idle: &sampler.Baseline{}, read: func(context.Context) (sampler.Snapshot, error) {
			return idling(time.Since(began).Seconds(), idle), nil
		}}
		m := &machines{all: []*machine{c}}
		for _, share := range []float64{1, 0, 0.5} { // of the time, in which its CPU is idle
			go func() {
				time.Sleep(time.Millisecond)
				idle += share * map[bool]float64{true: 0.25, false: 0.1}[c.idle.Watched == 0]
			}()
			iferr.Fatal(t, m.watchIdle(t.Context()))
		}
		rate, watched := m.idle()
		if want := (0 + 0.1 + 0.05) / 0.45; math.Abs(watched-0.45) > 1e-9 || math.Abs(rate-want) > 1e-6 {
			t.Errorf("%v CPU seconds a second in %v s, want %v in 0.45", rate, watched, want)
		}
	})
}
