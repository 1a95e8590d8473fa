package dockertest

import (
	"testing"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/runner/runnertest"
	"nettoll/workload"
	"nettoll/workload/engine"
	"nettoll/workload/workloadtest"
)

// Tries is how often a disturbance is tried whose trials are not as they should be.
const Tries = 3

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
	return runnertest.Run(t, &runner.Runner{
		Networks: map[string]runner.Recipe{d.Network: {Platform: d.Platform, Driver: d.Driver}},
		Tools:    map[string]workload.Tool{"engine": workloadtest.Disturbed(engine.New(), d.Do)},
		Settings: record.Settings{Duration: d.Duration, Warmup: 0.1, MaxRounds: d.Rounds},
		Cells: []record.Cell{{
			Network: d.Network, Hosts: d.Hosts, Family: 4, Servers: 1, Clients: 1,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
		}},
	})
}
