package networktest

import (
	"testing"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// InTurns measures a round of cells in the networks of a platform that stand at once and take turns. prefix is that of the
// networks' names in cells.
func InTurns(t *testing.T, p platform.Platform, prefix string, drivers []network.Driver, cells []record.Cell) (trials []record.Trial) {
	t.Helper()
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		t.Fatal(err)
	}
	congestion, err := sampler.ReadCongestion("/proc")
	if err != nil {
		t.Fatal(err)
	}
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{}, Tools: map[string]workload.Tool{engine.Name: engine.New()}, Machine: m,
		Settings: record.Settings{
			Duration: 0.1, Warmup: 0.1, MinRounds: 1, MaxRounds: 1, Confidence: 0.95, Seed: 1, Turns: true, Congestion: congestion.Unpaced(true),
		},
		Cells: cells, Unwatched: true,
		Save: func(t record.Trial) error {
			trials = append(trials, t)
			return nil
		},
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	for _, d := range drivers {
		r.Networks[prefix+d.Name] = runner.Recipe{Platform: p, Driver: d}
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return trials
}
