package dockertest

import (
	"testing"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"
	"nettoll/workload/workloadtest"
)

// Disturbance is something that happens to a network while its first trial is measured.
type Disturbance struct {
	Network  string // its name in cells
	Platform platform.Platform
	Driver   network.Driver
	Hosts    int
	Rounds   int
	Duration float64 // of a trial's window, in seconds
	Do       func()
}

// Measure measures all rounds and returns their trials.
func (d Disturbance) Measure(t *testing.T) []record.Trial {
	t.Helper()
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		t.Fatal(err)
	}
	var trials []record.Trial
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{d.Network: {Platform: d.Platform, Driver: d.Driver}},
		Tools:    map[string]workload.Tool{"engine": workloadtest.Disturbed(engine.New(), d.Do)},
		Machine:  m,
		Settings: record.Settings{Duration: d.Duration, Warmup: 0.1, MinRounds: d.Rounds, MaxRounds: d.Rounds, Confidence: 0.95, Seed: 1},
		Cells: []record.Cell{{
			Network: d.Network, Hosts: d.Hosts, Family: 4, Servers: 1, Clients: 1,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
		}},
		Save: func(trial record.Trial) error {
			t.Logf("round %d: %s %s", trial.Round, trial.Status, trial.Reason)
			trials = append(trials, trial)
			return nil
		},
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(trials) != d.Rounds {
		t.Fatalf("%d trials of %d", len(trials), d.Rounds)
	}
	return trials
}
