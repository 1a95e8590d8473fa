package runner

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
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
		{"much work on packets, by ticks", 1.25, 0, 0, 1, 0, time.Second, ""}, // of two CPUs: ±2√(100+4) ticks
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
		for _, w := range foreignWork(use, c.window, float64(c.switches)) {
			got += w.Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSwitchesOfTurnsThatCount has a turn that was read in time and one that was not, in which the machine switched between
// processes much more often. The allowance for switches is that of the first one's window.
func TestSwitchesOfTurnsThatCount(t *testing.T) {
	at := func(second float64, switches uint64, late time.Duration) edge {
		e := edge{machines: []sampler.Snapshot{idling(second, 0)}, switches: switches}
		e.lateBy(late)
		return e
	}
	use := record.CPUUse{Machine: record.MachineCPU{Busy: 0.6, PerCPU: make([]record.CPUSample, 1)}}
	for switches, foreign := range map[uint64]bool{120_000: true, 240_000: false} { // half of them count: 0.3 and 0.6 CPU seconds
		w := &watcher{at: &machines{all: []*machine{{}}}, turns: []turnUse{
			{from: at(0, 1000, -1), to: at(1, 1000+switches, -1), crossed: 200, counted: 100, window: 1},
			{from: at(2, 0, -1), to: at(3, 1e6, time.Second), crossed: 200, counted: 100, window: 1},
		}}
		if got := w.foreignWork(use, time.Second); len(got) > 0 != foreign {
			t.Errorf("%d switches: %+v", switches, got)
		}
	}
}

// TestPacketsOfOthersAreDoubted has a container without a part in the trial, whose port had counted 1000 packets before, and an end
// that received 500 packets for everybody.
func TestPacketsOfOthersAreDoubted(t *testing.T) {
	for _, c := range []struct {
		port   uint64 // what it has counted afterwards
		device string // of the end
		said   string
	}{
		{1050, "lo", ""}, // from other processes of the machine
		{1200, "lo", "200 packets crossed h1/veth7, which leads to a container that takes no part in the trial"},
		{1050, "eth0", "h1c1 received 500 broadcast, multicast or ping packets"},
	} {
		tr := &record.Trial{Endpoints: []record.Endpoint{{Name: "h1c1", Device: c.device}}, Counters: map[string]uint64{"h1c1/IpExtInMcastPkts": 500}}
		before, after := map[string]port{"h1/veth7": {packets: 1000}}, map[string]port{"h1/veth7": {packets: c.port}}
		got := ""
		for _, w := range foreignTraffic(tr, &proof{}, before, after, 1, time.Second) {
			got += w.Text
		}
		if !strings.HasPrefix(got, c.said) || (got == "") != (c.said == "") {
			t.Errorf("%+v: %q", c, got)
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

// podOn is an end in a pod that requests CPUs and is limited to some, and may run on some.
func podOn(role, request, limit string, cpus ...int) record.Endpoint {
	e := record.Endpoint{Name: role, Role: role, Machine: &record.Machine{}, Resources: &record.Resources{
		Requests: map[string]string{"cpu": request}, Limits: map[string]string{"cpu": limit},
	}}
	for _, id := range cpus {
		e.Machine.CPUs = append(e.Machine.CPUs, record.CPU{ID: id, Core: id})
	}
	return e
}

// TestCPUsOfPods checks what is said, and which CPUs are chosen, where pods were to have CPUs of their own: they have, or one has
// not, or both may run on all CPUs of a machine.
func TestCPUsOfPods(t *testing.T) {
	on := func(client, server []int) workload.CPUs { return workload.CPUs{Client: client, Server: server} }
	container := func(role string) record.Endpoint { return record.Endpoint{Name: role, Role: role} } // of another platform in the same run
	for name, c := range map[string]struct {
		client, server record.Endpoint
		common         []int // that both may use
		chosen, noted  workload.CPUs
		without        string
	}{
		"own":          {podOn("client", "2", "2", 4, 5), podOn("server", "2", "2", 2, 3), nil, on(nil, nil), on([]int{4, 5}, []int{2, 3}), ""},
		"own, one":     {podOn("client", "2", "2", 4, 5), podOn("server", "2", "2", 0, 1, 2, 3), nil, on(nil, nil), on([]int{4, 5}, nil), "server"},
		"shared":       {podOn("client", "1", "1", 0, 1), podOn("server", "1", "1", 0, 1), []int{0, 1}, on([]int{0}, []int{1}), on([]int{0}, []int{1}), "client and server"},
		"other limits": {podOn("client", "1", "2", 0, 1), podOn("server", "1", "2", 0, 1), []int{0, 1}, on([]int{0}, []int{1}), on([]int{0}, []int{1}), "client and server"},
		"no pods":      {container("client"), container("server"), []int{0, 1}, on([]int{0}, []int{1}), on([]int{0}, []int{1}), ""},
		"one CPU":      {container("client"), container("server"), []int{3}, on(nil, nil), on(nil, nil), ""},
		"no limits":    {podOn("client", "", "", 0, 1), podOn("server", "", "", 0, 1), []int{0, 1}, on([]int{0}, []int{1}), on([]int{0}, []int{1}), "client and server"},
	} {
		ends := []record.Endpoint{c.client, c.server}
		client, server := &AgentEndpoint{}, &AgentEndpoint{}
		node := &machine{facts: *podOn("", "", "", c.common...).Machine}
		m := &machines{all: []*machine{node}, of: map[*AgentEndpoint]*machine{client: node, server: node}}
		chosen, err := m.place(record.PlacementDistinct, []link{{client: client, server: server}}, ends)
		if alone := len(c.common) == 1; errors.Is(err, platform.ErrUnsupported) != alone || !cmp.Equal(chosen, c.chosen) {
			t.Errorf("%s: %v is chosen, %v; want %v", name, chosen, err, c.chosen)
		}
		place(ends, chosen)
		if noted := on(ends[0].CPUs, ends[1].CPUs); !cmp.Equal(noted, c.noted) {
			t.Errorf("%s: %v is noted, want %v", name, noted, c.noted)
		}
		if own := ownCPUs(ends, "client"); c.chosen.Client == nil && !slices.Equal(own, c.noted.Client) {
			t.Errorf("%s: clients have %v for themselves, want %v", name, own, c.noted.Client)
		}
		_, err = m.place(record.PlacementSame, []link{{client: client, server: server}}, ends)
		if apart := c.chosen.Client == nil && len(c.common) != 1; errors.Is(err, platform.ErrUnsupported) != apart {
			t.Errorf("%s, on the same CPU: %v", name, err)
		}
		r := &Runner{Settings: record.Settings{Venue: &record.Venue{}}}
		if got := r.shares(ends); got != nil {
			t.Errorf("%s: nobody has asked for CPUs: %v", name, got)
		}
		r.Settings.Venue.PodCPUs = 2
		got := r.shares(ends)
		if want := "the pods of " + c.without + " have no CPUs of their own: "; c.without == "" && got != nil ||
			c.without != "" && (len(got) != 1 || got[0].Code != "shared-cpus" || !strings.HasPrefix(got[0].Text, want)) {
			t.Errorf("%s: %v, want one of %q", name, got, c.without)
		}
	}
}

// TestSilenceThatIsNotKnown checks that a network that could not be watched is not said to have sent packets.
func TestSilenceThatIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		settle  *record.Settle
		unknown error
		want    string
	}{
		{nil, nil, ""}, // nothing to watch
		{&record.Settle{Silent: true}, nil, ""},
		{&record.Settle{}, nil, "not-silent"},
		{nil, errors.New("read counters of h1:\nno such process"), "silence-unknown"},
	} {
		got := unsettled(c.settle, c.unknown)
		if (len(got) == 0) != (c.want == "") || len(got) > 0 && (len(got) > 1 || got[0].Code != c.want || strings.Contains(got[0].Text, "\n")) {
			t.Errorf("%+v, %v: %+v", c.settle, c.unknown, got)
		}
	}
}

// TestSilenceOfOtherMachines checks that the CPU time of this machine is not taken for that of others: 1.5 s in two seconds, less 0.5 s
// of nettoll's own and 0.25 s when idle. Packets count from when the network was built.
func TestSilenceOfOtherMachines(t *testing.T) {
	began := time.Now()
	used, one := 0.75, 1.0
	for distant, want := range map[bool]record.Settle{
		false: {Wait: 2, CPU: &used, Packets: 7, Silent: true, RestPackets: 2, RestCPU: &one},
		true:  {Wait: 2, Packets: 7, Silent: true, RestPackets: 2},
	} {
		s := &session{r: &Runner{idle: sampler.Baseline{Busy: 0.25, Watched: 2}}, network: &network.Network{Distant: distant}, born: moment{packets: 3}}
		from, to := moment{at: began, packets: 5, cpu: idling(0, 0), own: 1}, moment{at: began.Add(2 * time.Second), packets: 10, cpu: idling(2, 0.5), own: 1.5}
		got := s.settled(from, to, rest{packets: 2, cpu: 1}, true)
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("on other machines: %v: %s", distant, diff)
		}
	}
	// A few packets in a very short time are no storm.
	if got := (&session{r: &Runner{}}).rest(moment{at: began}, moment{at: began.Add(time.Millisecond), packets: 50}); got.packets != 500 {
		t.Errorf("50 packets in a millisecond are %v per second, want 500", got.packets)
	}
}
