package runner_test

import (
	"context"
	"testing"
	"testing/synctest"

	"nettoll/record"
)

func TestPrecisionEndsTheRunButNotBeforeTheFewestRounds(t *testing.T) {
	for _, c := range []struct{ min, known, want int }{{1, 2, 2}, {4, 1, 4}, {3, 3, 3}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(&way{name: "host"}, &way{name: "bridge"}, &way{name: "broken", connect: func(context.Context, int) error { return errGone }})
			b.Settings.MinRounds, b.Settings.MaxRounds = c.min, 10
			b.Enough = func(trials []record.Trial) map[string]bool {
				count := map[string]int{}
				for _, tr := range trials {
					count[tr.Cell.Key()]++
				}
				enough := map[string]bool{}
				for key, n := range count {
					enough[key] = n >= c.known
				}
				return enough
			}
			end, err := b.run(t, t.Context())
			ends(t, end, err, record.EndPrecision, c.want)
			if got := len(b.of("host")); got != c.want {
				t.Errorf("%d trials, want %d", got, c.want)
			}
		})
	}
}

func TestPrecisionIsNotAskedOfWhatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "broken", connect: func(context.Context, int) error { return errGone }})
		b.Settings.MaxRounds = 10
		b.Enough = func([]record.Trial) map[string]bool { return map[string]bool{b.Cells[0].Key(): true} }
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndPrecision, 3)
	})
}

func TestBudgetEndsTheRun(t *testing.T) {
	for _, c := range []struct {
		name           string
		budget         float64 // seconds; half of one goes to watching the idle machine
		trials, rounds int
	}{
		{"for two rounds and a half", 10, 8, 2}, // of four trials of a second each
		{"less than a round", 2.2, 2, 0},        // not between the cells of a network
		{"less than a trial", 1, 1, 0},
		{"hardly anything", 0.1, 0, 0},
		{"as much as wanted", 1000, 40, 10},
		{"no limit", 0, 40, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(&way{name: "host"}, &way{name: "bridge"}, &way{name: "veth"}, &way{name: "macvlan"})
				b.Settings.MaxRounds, b.Settings.Budget = 10, c.budget
				end, err := b.run(t, t.Context())
				reason := record.EndBudget
				if c.rounds == 10 {
					reason = record.EndMaxRounds
				}
				ends(t, end, err, reason, c.rounds)
				if len(b.trials) != c.trials {
					t.Errorf("%d trials, want %d", len(b.trials), c.trials)
				}
			})
		})
	}
}
