package networktest

import (
	"os"
	"slices"
	"testing"
	"time"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// tries is how often a trial that failed is run: on a machine that does something else a
// flow can stand still for longer than the window. What took another path is no
// matter of luck, and not tried again.
const tries = 3

// usualWarmup is enough for connections to begin.
const usualWarmup = 50 * time.Millisecond

// Measure runs one round of cells over one network, whatever they call it, and again
// what failed.
func Measure(t *testing.T, p platform.Platform, tech network.Driver, cells []record.Cell) []record.Trial {
	t.Helper()
	return measureAfter(t, usualWarmup, p, tech, cells)
}

// measureAfter measures after a warm-up of that length.
func measureAfter(t *testing.T, warmup time.Duration, p platform.Platform, tech network.Driver, cells []record.Cell) []record.Trial {
	t.Helper()
	trials := measure(t, warmup, p, tech, cells)
	for range tries - 1 {
		var again []record.Cell
		for _, trial := range trials {
			if trial.Status == record.Failed {
				t.Logf("%s: %s", trial.Cell.Key(), trial.Reason)
				again = append(again, trial.Cell)
			}
		}
		if len(again) == 0 {
			break
		}
		trials = slices.DeleteFunc(trials, func(t record.Trial) bool { return t.Status == record.Failed })
		trials = append(trials, measure(t, warmup, p, tech, again)...)
	}
	return trials
}

func measure(t *testing.T, warmup time.Duration, p platform.Platform, tech network.Driver, cells []record.Cell) []record.Trial {
	t.Helper()
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		t.Fatal(err)
	}
	more := slack(t)
	var trials []record.Trial
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{},
		Tools:    map[string]workload.Tool{"engine": engine.New()},
		Machine:  m,
		Settings: record.Settings{Duration: 0.1 + more, Warmup: warmup.Seconds() + more, MinRounds: 1, MaxRounds: 1, Confidence: 0.95, Seed: 1},
		Cells:    cells,
		// What the traffic costs is not asked here.
		Unwatched: true,
		Save: func(t record.Trial) error {
			trials = append(trials, t)
			return nil
		},
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	for _, c := range cells {
		r.Networks[c.Network] = runner.Recipe{Platform: p, Driver: tech}
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(trials) != len(cells) {
		t.Errorf("%d trials of %d cells", len(trials), len(cells))
	}
	return trials
}

// Slow says that this machine is an emulated one, which takes a minute for what others do
// in a second.
func Slow(t *testing.T) bool { return slack(t) > 0 }

// slack is how many seconds warm-up and window are to be longer than on an ordinary
// machine. On an emulated one a flow may stand still for longer than either.
func slack(t *testing.T) float64 {
	const variable = "NETTOLL_TEST_SLACK"
	text := os.Getenv(variable)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		t.Fatalf("%s=%s is no duration", variable, text)
	}
	return d.Seconds()
}
