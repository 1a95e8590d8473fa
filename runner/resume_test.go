package runner_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"nettoll/record"
)

// TestResumedRunTakesWhatIsMissing stops a run after each of its trials and resumes it: the run has
// the same trials in the same order as without a stop.
func TestResumedRunTakesWhatIsMissing(t *testing.T) {
	ways := func() []*way {
		return []*way{{name: "host"}, {name: "bridge"}, {name: "veth"}}
	}
	sequence := func(trials []record.Trial) (all []string) {
		for _, tr := range trials {
			all = append(all, tr.Cell.Network+string(rune('0'+tr.Round))+string(rune('0'+tr.Order)))
		}
		return all
	}
	synctest.Test(t, func(t *testing.T) {
		whole := newBench(ways()...)
		end, err := whole.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 3)
		for n := range len(whole.trials) + 1 {
			b := newBench(ways()...)
			b.Before = whole.trials[:n]
			end, err := b.run(t, t.Context())
			ends(t, end, err, record.EndMaxRounds, 3)
			if got, want := sequence(b.trials), sequence(whole.trials[n:]); !slices.Equal(got, want) {
				t.Errorf("after %d trials it went on with %v, want %v", n, got, want)
			}
			// A trial that is compared with one of the process before says so.
			for _, tr := range b.trials {
				apart := slices.ContainsFunc(b.Before, func(o record.Trial) bool {
					return o.Round == tr.Round && (o.Cell.Network == "host") != (tr.Cell.Network == "host")
				})
				if got := said(tr, "remark") != ""; got != apart {
					t.Errorf("after %d trials, %s of round %d says that the run was resumed: %v, want %v", n, tr.Cell.Network, tr.Round, got, apart)
				}
			}
		}
	})
}

// TestResumedRunIsNotComparedWithWhatFailed resumes a round in which the only trial so far has no figures.
func TestResumedRunIsNotComparedWithWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "bridge"})
		b.Before = []record.Trial{{Cell: cells("bridge")[0], Round: 1, Order: 1, Status: record.Skipped, Reason: "no bridge"}}
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 3)
		for _, tr := range b.of("host") {
			if text := said(tr, "remark"); text != "" {
				t.Errorf("in round %d native says %q", tr.Round, text)
			}
		}
	})
}

func TestResumedRunKnowsWhatItsFileHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newBench(&way{name: "host"}, &way{name: "broken", connect: func(context.Context, int) error { return errGone }})
		first.Settings.MaxRounds = 5
		if _, err := first.run(t, t.Context()); err != nil {
			t.Fatal(err)
		}
		b := newBench(&way{name: "host"}, &way{name: "broken"})
		b.Before = first.trials
		b.Settings.MaxRounds = 100
		b.Enough = func([]record.Trial) map[string]bool { return map[string]bool{b.Cells[0].Key(): true} }
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndPrecision, 5) // in the file, though this process took none
		if len(b.trials) != 0 || b.w.builds["broken"] != 0 {
			t.Errorf("%d trials, and %d attempts of what was given up", len(b.trials), b.w.builds["broken"])
		}
	})
}
