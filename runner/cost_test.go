package runner

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// TestEveryTrialKeepsItsCost checks that a trial in which the machine seems to have used less CPU
// time than its processes is kept: leaving it out would favour expensive trials.
func TestEveryTrialKeepsItsCost(t *testing.T) {
	use := func(busy, client, server, daemon float64) *record.CPUUse {
		u := record.CPUUse{Machine: record.MachineCPU{Busy: busy}, Client: record.ProcessCPU{System: client}, Server: record.ProcessCPU{User: server}}
		if daemon > 0 {
			u.Daemons = []record.ProcessCPU{{System: daemon}}
		}
		return &u
	}
	for name, c := range map[string]struct {
		use    *record.CPUUse
		idle   float64 // CPU seconds per second
		value  float64 // CPU seconds per GB
		warned bool
	}{
		"quiet":                        {use(1.2, 0.4, 0.5, 0), 0.2, 1, false},
		"all in processes":             {use(1, 0.51, 0.51, 0), 0, 1.02, false},
		"busier when idle":             {use(1.2, 0.1, 0.1, 0), 1.3, 0.2, true},
		"as busy when idle":            {use(2, 0.1, 0.1, 0), 2 - 1e-11, 0.2, true},
		"less than the processes took": {use(1.9, 0.4, 0.5, 0), 1.2, 0.9, true},
		"less than the daemon took":    {use(1.9, 0.2, 0.2, 0.5), 1.2, 0.9, true},
		"as much as with the daemon":   {use(1.9, 0.2, 0.2, 0.3), 1.2, 0.7, false},
	} {
		t.Run(name, func(t *testing.T) {
			trial := record.Trial{Window: 1, CPU: c.use, Metrics: map[string]record.Metric{}}
			trial.CPU.Idle = c.idle
			cost(&trial, 1e9)
			if got := trial.Metrics[record.CPUPerGB].Value; math.Abs(got-c.value) > 1e-9 {
				t.Errorf("cost %v, want %v", got, c.value)
			}
			if (len(trial.Warnings) > 0) != c.warned || c.warned && trial.Warnings[0].Code != "idle-was-busy" {
				t.Errorf("doubts %+v", trial.Warnings)
			}
		})
	}
}

// TestBaselinesOfARound checks that the idle machine that is watched counts in the next round and in the whole run, and that other
// machines are watched anew.
func TestBaselinesOfARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cpu, err := sampler.NewCPU("/proc", "/sys")
		iferr.Fatal(t, err)
		r := &Runner{cpu: cpu, distant: map[string]*sampler.Baseline{"b": {Busy: 1, Watched: 1}}}
		iferr.Fatal(t, r.watchIdle(t.Context(), time.Second))
		iferr.Fatal(t, r.baseline(t.Context()))
		if r.idle.Watched <= 0 || r.watched != r.idle || r.ahead.Watched != 0 || r.idleOf("b").Watched != 0 {
			t.Errorf("in the round %+v, in the run %+v, for the next round %+v, elsewhere %+v", r.idle, r.watched, r.ahead, r.idleOf("b"))
		}
	})
}

// TestReadingsAreAsLateAsTheirDaemons has a machine that was read for the network of the turn before. What is read only now, such as
// daemons, may be late.
func TestReadingsAreAsLateAsTheirDaemons(t *testing.T) {
	began := time.Now()
	if e := (&watcher{}).read(t.Context(), func() sight { return sight{} }); e.at.Before(began) {
		t.Errorf("read at %v, before %v", e.at, began)
	}
}

// TestMixedTrafficHasNoSharedFigures checks that bytes and transactions are not added up, and that
// the CPU time of streams is not charged to the transactions that run with them.
func TestMixedTrafficHasNoSharedFigures(t *testing.T) {
	trial := record.Trial{
		Cell: record.Cell{Workload: record.LatencyUnderLoad}, Window: 1, Metrics: map[string]record.Metric{},
		CPU:   &record.CPUUse{Machine: record.MachineCPU{Busy: 2}, Client: record.ProcessCPU{System: 1}},
		Flows: []record.Flow{{Transactions: 3000}, {Bytes: 1e9}, {Bytes: 1e9}, {Transactions: 2000}, {Bytes: 4e9}},
	}
	addShares(&trial)
	trial.Metrics[record.TransactionRate] = record.Measured(record.TransactionRate, 5000)
	cost(&trial, 6e9)
	if got := trial.Metrics[record.Fairness].Value; math.Abs(got-36.0/(3*18)) > 1e-9 { // of the streams only
		t.Errorf("fairness %v, want %v", got, 36.0/(3*18))
	}
	for _, name := range []string{record.CPUPerTransaction, record.CPUPerGB} {
		if m, has := trial.Metrics[name]; has {
			t.Errorf("%s is %v", name, m)
		}
	}
	trial.Flows = []record.Flow{{Transactions: 3000}, {Bytes: 1e9}}
	delete(trial.Metrics, record.Fairness)
	if addShares(&trial); trial.Metrics[record.Fairness].Value != 0 {
		t.Errorf("one stream and one flow of transactions share at %v", trial.Metrics[record.Fairness].Value)
	}
}

// TestThroughputOfAClient checks that a client is a process, of which a container can have several.
func TestThroughputOfAClient(t *testing.T) {
	for _, c := range []struct {
		clients, processes int
		want               float64
	}{{1, 0, 0}, {2, 0, 6e9}, {1, 3, 4e9}, {2, 3, 2e9}} {
		trial := record.Trial{Cell: record.Cell{Clients: c.clients, Processes: c.processes}, Metrics: map[string]record.Metric{
			record.Throughput: record.Measured(record.Throughput, 12e9),
		}}
		addShares(&trial)
		if m := trial.Metrics[record.ThroughputPerClient]; m.Value != c.want {
			t.Errorf("%d containers of %d processes: %v bit/s, want %v", c.clients, c.processes, m.Value, c.want)
		}
	}
}

// TestPartsOfTransactionsCost has flows that ended less than half a transaction each, beside one that ended some.
func TestPartsOfTransactionsCost(t *testing.T) {
	trial := record.Trial{
		Window: 0.5, CPU: &record.CPUUse{Machine: record.MachineCPU{Busy: 0.9}, Idle: 0.2},
		Flows:   []record.Flow{{}, {}, {Transactions: 3}},
		Metrics: map[string]record.Metric{record.TransactionRate: record.Measured(record.TransactionRate, 8)},
	}
	cost(&trial, 4e6)
	if got := trial.Metrics[record.CPUPerTransaction].Value; math.Abs(got-0.8/4) > 1e-9 {
		t.Errorf("a transaction costs %v CPU seconds, want 0.2", got)
	}
}

// TestRestingDaemons checks what a daemon, beside one that does nothing, is said to use while other networks have their turns,
// depending on which readings were late.
func TestRestingDaemons(t *testing.T) {
	at := func(second, used float64, late bool) edge {
		now := time.Unix(0, int64(second*1e9))
		return edge{
			machines: []sampler.Snapshot{idling(second, 0)}, late: late,
			daemons: []sampler.ProcessTime{sampler.Used(now, time.Duration(used*1e9)), sampler.Used(now, 0)},
		}
	}
	for name, c := range map[string]struct {
		turns        []turnUse
		cpu, watched float64
	}{
		"one turn":                  {[]turnUse{{from: at(0, 0, false), to: at(1, 1, false)}}, 0, 0},
		"between two turns":         {[]turnUse{{from: at(0, 0, false), to: at(1, 1, false)}, {from: at(5, 1.5, false), to: at(6, 3, false)}}, 0.5, 4},
		"in another network's":      {[]turnUse{{from: at(0, 0, false), to: at(1.1, 1, true)}, {from: at(5, 1.5, false), to: at(6, 3, false)}}, 0.5, 3.9},
		"in its own turn":           {[]turnUse{{from: at(0, 0, false), to: at(1, 1, false)}, {from: at(5.1, 1.6, true), to: at(6, 3, false)}}, 0, 0},
		"in its own, once of twice": {[]turnUse{{from: at(0, 0, false), to: at(1, 1, false)}, {from: at(5.1, 1.6, true), to: at(6, 3, false)}, {from: at(8, 3.25, false), to: at(9, 4, false)}}, 0.25, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := &watcher{daemons: []network.Daemon{{Name: "d"}, {Name: "e"}}, turns: c.turns}
			got := w.resting()
			if got == nil {
				got = &record.Resting{}
			}
			if math.Abs(got.CPU-c.cpu) > 1e-9 || math.Abs(got.Watched-c.watched) > 1e-9 {
				t.Errorf("%+v, want CPU %v in %v", *got, c.cpu, c.watched)
			}
		})
	}
}
