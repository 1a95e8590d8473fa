package runner_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/record"
	"nettoll/runner"
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

// TestKnownCellsAreMeasuredNoMore checks that known cells are left out, and that their baseline is
// measured as long as any other cell is compared with it.
func TestKnownCellsAreMeasuredNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "bridge"}, &way{name: "veth"}, &way{name: "macvlan"})
		b.Cells[3].Hosts, b.Cells[3].Network = 2, "native" // a baseline by itself
		b.Networks["native"] = b.Networks["macvlan"]
		b.Settings.MaxRounds = 10
		after := map[string]int{"host": 1, "bridge": 2, "veth": 4, "native": 3}
		b.Enough = func(trials []record.Trial) map[string]bool {
			count, enough := map[string]int{}, map[string]bool{}
			for _, tr := range trials {
				key := tr.Cell.Key()
				count[key]++
				enough[key] = count[key] >= after[tr.Cell.Network]
			}
			return enough
		}
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndPrecision, 4)
		for network, want := range map[string]int{"host": 4, "bridge": 2, "veth": 4, "native": 3} {
			if got := len(b.of(network)); got != want {
				t.Errorf("%d trials of %s, want %d", got, network, want)
			}
		}
		if b.w.builds["bridge"] != 2 {
			t.Errorf("the bridge was built %d times for 2 trials", b.w.builds["bridge"])
		}
	})
}

// TestReopenedCellsJoinTheLastRound checks that a cell that was known, and needs more trials when the
// run is resumed, is not measured in rounds whose other trials are long over.
func TestReopenedCellsJoinTheLastRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newBench(&way{name: "host"}, &way{name: "bridge"}, &way{name: "veth"})
		first.Settings.MaxRounds = 4
		first.Enough = func(trials []record.Trial) map[string]bool {
			return map[string]bool{first.Cells[1].Key(): len(trials) >= 6}
		}
		if _, err := first.run(t, t.Context()); err != nil || len(first.of("bridge")) != 2 {
			t.Fatalf("%d trials of what is known, %v", len(first.of("bridge")), err)
		}
		b := newBench(&way{name: "host"}, &way{name: "bridge"}, &way{name: "veth"})
		b.Before, b.Settings.MaxRounds = first.trials, 6
		if _, err := b.run(t, t.Context()); err != nil {
			t.Fatal(err)
		}
		var rounds []int
		for _, tr := range b.of("bridge") {
			rounds = append(rounds, tr.Round)
		}
		if !slices.Equal(rounds, []int{4, 5, 6}) {
			t.Errorf("it went on in rounds %v, want 4, 5, 6", rounds)
		}
	})
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

// TestTimeToStartHosts checks that a network may take longer to build if its platform may have to start hosts for it.
func TestTimeToStartHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "bridge"})
		for name, f := range b.ways {
			f.connect = func(ctx context.Context, _ int) error {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(4 * time.Minute):
					return nil
				}
			}
			b.Networks[name] = runner.Recipe{Platform: &ground{w: b.w, name: name}, Driver: f.driver()}
		}
		b.Networks["bridge"].Platform.(*ground).starts = 3 * time.Minute
		b.Settings.MaxRounds = 1
		if _, err := b.run(t, t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]record.Status{"host": record.Failed, "bridge": record.OK} {
			if tr := b.of(name)[0]; tr.Status != want {
				t.Errorf("%s: %s %s, want %s", name, tr.Status, tr.Reason, want)
			}
		}
	})
}

// TestBudgetAfterASlowStart checks that what only the first round takes, such as the start of an engine, is not kept free of the
// budget for all others.
func TestBudgetAfterASlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "bridge", connect: func(_ context.Context, nth int) error {
			if nth == 1 {
				time.Sleep(20 * time.Second)
			}
			return nil
		}})
		b.Settings.MaxRounds, b.Settings.Budget = 30, 60
		if _, err := b.run(t, t.Context()); err != nil || len(b.trials) < 2*14 { // of a second each
			t.Errorf("%d trials in 60 s, of which the start took 20: %v", len(b.trials), err)
		}
	})
}

// TestLeastRoundsExceedTheBudget checks that the rounds that a run is to do at least are done if they end soon after the budget.
func TestLeastRoundsExceedTheBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		least  int
		late   time.Duration
		slow   time.Duration // of building a network of the third round
		rounds int
		detail string
		more   float64 // seconds of the budget beyond two rounds and a half
	}{
		{"none is asked for", 0, 0, 0, 2, "", 0},
		{"they are done before", 2, 10 * time.Second, 0, 2, "", 0},
		{"one is missing", 3, 5 * time.Second, 0, 3, "it was exceeded by 3 s for the first 3 rounds", 0},
		{"two are missing", 4, 10 * time.Second, 0, 4, "it was exceeded by 7 s for the first 4 rounds", 0},
		{"there is time for one of two", 4, 5 * time.Second, 0, 2, "", 0},
		{"the last takes longer than the others", 3, 5 * time.Second, 8 * time.Second, 2, "it was exceeded by 9 s for the first 3 rounds", 0},
		{"one that would fit takes longer", 4, 10 * time.Second, 3 * time.Second, 4, "it was exceeded by 6 s for the first 4 rounds", 3.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := func(_ context.Context, nth int) error {
					if nth == 3 {
						time.Sleep(c.slow)
					}
					return nil
				}
				b := newBench(&way{name: "host"}, &way{name: "bridge"}, &way{name: "veth", connect: slow}, &way{name: "macvlan"})
				b.Settings.MaxRounds, b.Settings.Budget = 10, 10+c.more
				b.Least, b.Late = c.least, c.late
				end, err := b.run(t, t.Context())
				ends(t, end, err, record.EndBudget, c.rounds)
				if end.Detail != c.detail {
					t.Errorf("it says %q, want %q", end.Detail, c.detail)
				}
			})
		})
	}
}

func TestBudgetEndsTheRun(t *testing.T) {
	for _, c := range []struct {
		name           string
		budget         float64 // seconds; 0.5 of them go to watching the idle machine
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
