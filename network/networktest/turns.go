package networktest

import (
	"slices"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/runner/runnertest"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// InTurns measures a round of cells in the networks of a platform that stand at once and take turns, and does so again if a
// trial fails or has taken no turns, as on a busy machine: see tries. prefix is that of the networks' names in cells.
func InTurns(t *testing.T, p platform.Platform, prefix string, drivers []network.Driver, cells []record.Cell) []record.Trial {
	t.Helper()
	congestion, err := sampler.ReadCongestion("/proc")
	iferr.Fatal(t, err)
	var trials []record.Trial
	for range tries {
		r := &runner.Runner{
			Networks: map[string]runner.Recipe{}, Tools: map[string]workload.Tool{engine.Name: engine.New()},
			Settings: record.Settings{Duration: 0.2, Warmup: 0.1, MaxRounds: 1, Turns: true, Congestion: congestion.Unpaced(true)},
			Cells:    cells, Unwatched: true,
		}
		for _, d := range drivers {
			r.Networks[prefix+d.Name] = runner.Recipe{Platform: p, Driver: d}
		}
		if trials = runnertest.Run(t, r); !slices.ContainsFunc(trials, stalled) {
			break
		}
	}
	return trials
}

// stalled reports whether a trial failed, or took no turns, although it was to be compared with another network's.
func stalled(t record.Trial) bool {
	alone := t.Cell.Network == t.Cell.Baseline
	return t.Status == record.Failed || t.Status == record.OK && len(t.Slices) == 0 && !alone
}
