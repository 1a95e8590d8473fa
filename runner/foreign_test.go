package runner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// TestWorkOfOthersIsDoubted checks that the work of the trial itself is not taken for foreign work, on
// a quiet machine with any clock.
func TestWorkOfOthersIsDoubted(t *testing.T) {
	for _, c := range []struct {
		name     string
		busy     float64
		idle     float64
		own      float64 // of client, server and a daemon each
		softirq  float64
		switches uint64
		window   time.Duration
		want     string
	}{
		{"a stream that fills both CPUs", 2, 0.02, 0.5, 0.45, 9_000, time.Second, ""},
		{"transactions, most of whose time is between processes", 1.1, 0.01, 0.2, 0.2, 80_000, time.Second, ""},
		{"a machine that is always half busy", 1.6, 0.9, 0.2, 0.1, 10_000, time.Second, ""},
		{"clocks of ticks in a short window", 0.13, 0, 0.02, 0.02, 1000, 100 * time.Millisecond, ""},
		{"a process on one CPU", 1.9, 0.02, 0.2, 0.2, 9_000, time.Second, "something else on the machine used 1 CPU seconds per second during the trial"},
		{"half of one", 1.4, 0.02, 0.2, 0.2, 9_000, time.Second, "something else on the machine used 0.53 CPU seconds per second during the trial"},
		{"in a long window even less", 5, 0.02, 1, 0.5, 20_000, 5 * time.Second, "something else on the machine used 0.26 CPU seconds per second during the trial"},
	} {
		one := record.ProcessCPU{User: c.own / 2, System: c.own / 2}
		use := record.CPUUse{
			Client: one, Server: one, Daemons: []record.ProcessCPU{one}, Idle: c.idle,
			Machine: record.MachineCPU{Busy: c.busy, Softirq: c.softirq, PerCPU: make([]record.CPUSample, 2)},
		}
		got := ""
		for _, w := range foreignWork(use, c.window, c.switches) {
			got += w.Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCPULimitsAreDoubted has two endpoints that had to wait for a CPU since they had used up their limits.
func TestCPULimitsAreDoubted(t *testing.T) {
	trial := record.Trial{Endpoints: []record.Endpoint{{Name: "c1"}, {Name: "c2"}}, Counters: map[string]uint64{"c2/TcpInSegs": 9}}
	if got := throttled(&trial); len(got) > 0 {
		t.Errorf("without a limit: %+v", got)
	}
	trial.Counters["c1/"+sampler.CounterThrottled], trial.Counters["c2/"+sampler.CounterThrottled] = 2, 3
	if got := throttled(&trial); len(got) != 1 || got[0].Code != "cpu-limit" || !strings.HasPrefix(got[0].Text, "c2 used up its CPU limit in 3 periods") {
		t.Errorf("%+v", got)
	}
}

// TestSilenceThatIsNotKnown checks that a network that could not be watched gets the same warning as
// one that did not become silent.
func TestSilenceThatIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		settle  *record.Settle
		unknown error
		want    int
	}{
		{nil, nil, 0}, // nothing to watch
		{&record.Settle{Silent: true}, nil, 0},
		{&record.Settle{}, nil, 1},
		{nil, errors.New("read counters of h1:\nno such process"), 1},
	} {
		got := unsettled(c.settle, c.unknown)
		if len(got) != c.want || c.want > 0 && (got[0].Code != "not-silent" || strings.Contains(got[0].Text, "\n")) {
			t.Errorf("%+v, %v: %+v", c.settle, c.unknown, got)
		}
	}
}

// TestSilenceOfOtherMachines checks that the CPU time of this machine is not taken for that of others.
func TestSilenceOfOtherMachines(t *testing.T) {
	began := time.Now()
	none, one := 0.0, 1.0
	for distant, want := range map[bool]record.Settle{
		false: {Wait: 1, CPU: &none, Packets: 7, Silent: true, RestPackets: 2, RestCPU: &one},
		true:  {Wait: 1, Packets: 7, Silent: true, RestPackets: 2},
	} {
		s := &session{r: &Runner{}, network: &network.Network{Distant: distant}}
		got := s.settled(moment{at: began}, moment{at: began.Add(time.Second), packets: 7}, rest{packets: 2, cpu: 1}, true)
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("on other machines: %v: %s", distant, diff)
		}
	}
}
