// Package runnertest has tests measure real networks.
package runnertest

import (
	"testing"

	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
)

// Run runs all rounds on this machine, however precise their figures are, and returns their trials: one for each cell
// and round, and more of baselines that are measured in several parts of a round.
func Run(t *testing.T, r *runner.Runner) (trials []record.Trial) {
	t.Helper()
	var err error
	if r.Machine, err = sampler.Machine("/proc", "/sys"); err != nil {
		t.Fatal(err)
	}
	r.Settings.MinRounds, r.Settings.Confidence, r.Settings.Seed = r.Settings.MaxRounds, 0.95, 1
	r.Enough = func([]record.Trial) map[string]bool { return nil }
	r.Save = func(trial record.Trial) error {
		t.Logf("%s, round %d: %s %s", trial.Cell.Network, trial.Round, trial.Status, trial.Reason)
		trials = append(trials, trial)
		return nil
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := len(r.Cells) * r.Settings.MaxRounds; len(trials) < want {
		t.Fatalf("%d trials, want %d", len(trials), want)
	}
	return trials
}
