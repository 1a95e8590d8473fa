package runner_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// inParts returns a bench of more networks than can stand at once: native and six others, in two parts.
func inParts() *bench {
	b := newBench(&way{name: "host"}, &way{name: "a"}, &way{name: "b"}, &way{name: "c"}, &way{name: "d"}, &way{name: "e"}, &way{name: "f"})
	b.Settings.Turns, b.Settings.Duration = true, 0.1
	for i := range b.Cells {
		b.Cells[i].Clients = 31
	}
	return b
}

// told describes trials.
func told(trials []record.Trial) (all []string) {
	for _, t := range trials {
		all = append(all, fmt.Sprintf("%s %d.%d %d", t.Cell.Network, t.Round, t.Part, t.Order))
	}
	return all
}

// TestEveryPartHasItsBaseline checks that each part of a round has the baseline once, and the round every other
// network once.
func TestEveryPartHasItsBaseline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inParts()
		watch := &follower{}
		b.Watch = watch
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 3)
		times := map[string]int{}
		for _, tr := range b.trials {
			if tr.Status != record.OK || tr.Part < 1 || tr.Part > 2 {
				t.Errorf("%s is %s in part %d: %s", tr.Cell.Network, tr.Status, tr.Part, tr.Reason)
			}
			if tr.Cell.IsNative() {
				times[fmt.Sprintf("part %d of round %d", tr.Part, tr.Round)]++
			} else {
				times[fmt.Sprintf("%s in round %d", tr.Cell.Network, tr.Round)]++
			}
		}
		for what, n := range times {
			if n != 1 {
				t.Errorf("%s: %d trials", what, n)
			}
		}
		if len(times) != 3*(2+6) || watch.announced != len(b.trials) || b.w.builds["host"] != 6 {
			t.Errorf("%d trials of %d announced, native was built %d times: %v", len(b.trials), watch.announced, b.w.builds["host"], times)
		}
	})
}

// TestResumedRoundHasItsParts stops a run with parts after each of its trials and resumes it: every part has its
// baseline and its cells as without a stop, in the same order.
func TestResumedRoundHasItsParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := inParts()
		if _, err := whole.run(t, t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range len(whole.trials) + 1 {
			b := inParts()
			b.Before = whole.trials[:n]
			end, err := b.run(t, t.Context())
			ends(t, end, err, record.EndMaxRounds, 3)
			// Whole trials of a part have a random order; what is left of it may have another.
			got, want := b.trials, whole.trials[n:]
			if len(got) != len(want) {
				t.Fatalf("after %d trials it went on with %v, want %v", n, told(got), told(want))
			}
			key := func(t record.Trial) string { return fmt.Sprintf("%d.%d %s", t.Round, t.Part, t.Cell.Network) }
			var a, w []string
			for i := range got {
				a, w = append(a, key(got[i])), append(w, key(want[i]))
			}
			slices.Sort(a)
			slices.Sort(w)
			if !slices.Equal(a, w) {
				t.Errorf("after %d trials it went on with %v, want %v", n, a, w)
			}
		}
	})
}

// TestResumedRoundKeepsPartsOfGivenUp resumes a round in which a cell was given up: the others stay in their parts.
func TestResumedRoundKeepsPartsOfGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaking := func() *bench {
			b := inParts()
			b.ways["c"].connect = func(context.Context, int) error { return errGone }
			return b
		}
		whole := breaking()
		if _, err := whole.run(t, t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range len(whole.trials) {
			b := breaking()
			b.Before = whole.trials[:n]
			if _, err := b.run(t, t.Context()); err != nil {
				t.Fatal(err)
			}
			seen := map[string]int{}
			for _, tr := range append(slices.Clone(b.Before), b.trials...) {
				seen[fmt.Sprintf("%s %d.%d", tr.Cell.Network, tr.Round, tr.Part)]++
			}
			for _, tr := range whole.trials {
				if at := fmt.Sprintf("%s %d.%d", tr.Cell.Network, tr.Round, tr.Part); seen[at] != 1 {
					t.Errorf("after %d trials, %s was measured %d times", n, at, seen[at])
				}
			}
		}
	})
}

// TestBaselineFailsInOnePart checks that failures of a baseline count by rounds: it works in one part of each.
func TestBaselineFailsInOnePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inParts()
		b.Settings.MaxRounds = 5
		b.ways["host"].connect = func(_ context.Context, nth int) error {
			if nth%2 == 0 {
				return errGone
			}
			return nil
		}
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 5)
		if n := len(b.of("host")); n != 10 {
			t.Errorf("native was tried %d times, want 10", n)
		}
	})
}

// TestBaselineFailsInEveryPart checks that a baseline is tried in three rounds, not in three parts.
func TestBaselineFailsInEveryPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inParts()
		b.Settings.MaxRounds = 5
		b.ways["host"].connect = func(context.Context, int) error { return errGone }
		if _, err := b.run(t, t.Context()); err != nil {
			t.Fatal(err)
		}
		rounds := map[int]bool{}
		for _, tr := range b.of("host") {
			rounds[tr.Round] = true
		}
		if len(rounds) != record.GiveUp {
			t.Errorf("native was tried in rounds %v", rounds)
		}
	})
}

// TestBaselineIsLost has a baseline fail after it has worked. Once it is given up, the run ends: further trials could be compared
// with nothing.
func TestBaselineIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inParts()
		b.Settings.MaxRounds = 50
		b.ways["host"].connect = func(_ context.Context, nth int) error {
			if nth >= 4 { // twice in each of two rounds
				return errGone
			}
			return nil
		}
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndFailed, 2+record.GiveUp)
		for _, tr := range b.trials {
			if tr.Round > 2+record.GiveUp {
				t.Fatalf("%s is measured in round %d", tr.Cell.Network, tr.Round)
			}
		}
	})
}

// TestBaselineFailsUntilTheLastPart checks that a baseline that works in some part of a round is not given up in that
// round, also if the run is stopped after any of its trials and resumed.
func TestBaselineFailsUntilTheLastPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := func(before []record.Trial) *bench {
			b := inParts()
			b.Settings.MaxRounds, b.Before = 4, before
			tried := len(record.Those(before, func(tr record.Trial) bool { return tr.Cell.IsNative() }))
			b.ways["host"].connect = func(_ context.Context, nth int) error {
				if tried+nth < 2*record.GiveUp { // in all parts but the last of the third round
					return errGone
				}
				return nil
			}
			return b
		}
		whole := failing(nil)
		if _, err := whole.run(t, t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range whole.trials {
			b := failing(whole.trials[:n])
			if _, err := b.run(t, t.Context()); err != nil {
				t.Fatal(err)
			}
			natives := record.Those(slices.Concat(b.Before, b.trials), func(tr record.Trial) bool { return tr.Cell.IsNative() })
			if len(natives) != 2*4 {
				t.Errorf("stopped after %d trials: native was tried %d times, want 8", n, len(natives))
			}
		}
	})
}

// TestInterruptedPartIsIncomplete checks that a round without the baseline of one of its parts does not count.
func TestInterruptedPartIsIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := inParts()
		b.tool.run = func(ctx context.Context, nth int64, job workload.Job) (workload.Result, error) {
			if nth == 8+7 {
				cancel()
			}
			return b.tool.well(ctx, job)
		}
		end, err := b.run(t, ctx)
		ends(t, end, err, record.EndInterrupted, 1)
	})
}

// engines is a platform on which two networks can stand at once.
type engines struct{ *ground }

func (e engines) Info() platform.Info { return platform.Info{Name: e.name, AtOnce: 2} }

// TestEnginesInParts measures more networks than a platform can have at once: each part has the baseline.
func TestEnginesInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "a"}, &way{name: "b"}, &way{name: "c"}, &way{name: "d"})
		b.Settings.Turns = true
		for name, recipe := range b.Networks {
			recipe.Platform = engines{&ground{w: b.w, name: "docker"}}
			b.Networks[name] = recipe
		}
		b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
			b.w.mu.Lock()
			if b.w.open > 2 {
				t.Errorf("%d networks stand at once", b.w.open)
			}
			b.w.mu.Unlock()
			return b.tool.well(ctx, job)
		}
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 3)
		if len(b.trials) != 3*8 || b.w.builds["host"] != 3*4 {
			t.Errorf("%d trials, native was built %d times: %v", len(b.trials), b.w.builds["host"], told(b.trials))
		}
	})
}
