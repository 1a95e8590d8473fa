package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"nettoll/platform"
	"nettoll/record"
)

// ends checks how a run ended. Tests with fakes run in the invented time of a bubble.
func ends(t *testing.T, end record.End, err error, reason string, rounds int) {
	t.Helper()
	if err != nil || end.Reason != reason || end.Rounds != rounds {
		t.Errorf("it ended with %q after %d rounds and %v, want %q after %d", end.Reason, end.Rounds, err, reason, rounds)
	}
}

func TestNetworkThatCannotBeBuiltIsGivenUpAfterThreeFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "broken", connect: func(context.Context, int) error {
			return fmt.Errorf("add veth: %w\nand more", errGone)
		}})
		b.Settings.MaxRounds = 5
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 5)
		if got := len(b.of("broken")); got != 3 || b.w.builds["broken"] != 3 {
			t.Errorf("%d trials and %d attempts of what cannot be built, want 3 and 3", got, b.w.builds["broken"])
		}
		for _, tr := range b.of("broken") {
			if tr.Status != record.Failed || tr.Reason != "add veth: the network fell off the table; and more" {
				t.Errorf("%s with reason %q", tr.Status, tr.Reason)
			}
		}
		if got := b.of("host"); len(got) != 5 || got[4].Status != record.OK || got[4].Round != 5 {
			t.Errorf("the other network has the trials %+v, want 5 that are ok", got)
		}
	})
}

func TestFailuresInARowCountFromTheLastSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "shaky", connect: func(_ context.Context, nth int) error {
			if nth%3 == 0 {
				return nil
			}
			return errGone
		}})
		b.Settings.MaxRounds = 9
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 9)
		if len(b.trials) != 9 {
			t.Errorf("%d trials, want 9: two failures in a row are not three", len(b.trials))
		}
	})
}

func TestUnsupportedIsSkippedOnceWithItsRemedy(t *testing.T) {
	missing := fmt.Errorf("openvswitch: %w", &platform.Unsupported{
		Feature: "datapaths", Option: "CONFIG_OPENVSWITCH", Remedy: "modprobe openvswitch", Err: errGone,
	})
	for name, f := range map[string]*way{
		"probe":   {name: "ovs", probe: missing},
		"connect": {name: "ovs", connect: func(context.Context, int) error { return missing }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(&way{name: "host"}, &way{name: "ovs", probe: f.probe, connect: f.connect})
				six := b.Cells[1]
				six.Family = 6
				b.Cells = append(b.Cells, six)
				end, err := b.run(t, t.Context())
				ends(t, end, err, record.EndMaxRounds, 3)
				if got := len(b.of("ovs")); got != 2 || b.w.probes["ovs"] != 1 {
					t.Errorf("%d trials of two cells after %d probes, want 2 after 1", got, b.w.probes["ovs"])
				}
				for _, tr := range b.of("ovs") {
					if tr.Status != record.Skipped || tr.Remedy != "modprobe openvswitch" || !strings.Contains(tr.Reason, "CONFIG_OPENVSWITCH") {
						t.Errorf("%s, reason %q, remedy %q", tr.Status, tr.Reason, tr.Remedy)
					}
				}
			})
		})
	}
}

// TestWhatHasWorkedIsNotSkipped has a platform refuse, in the second round, what it has allowed in the first and allows again.
func TestWhatHasWorkedIsNotSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "pod", connect: func(_ context.Context, nth int) error {
			if nth == 2 {
				return &platform.Unsupported{Feature: "pods", Option: "room in the quota", Remedy: "raise the quota"}
			}
			return nil
		}})
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 3)
		var got []record.Status
		for _, tr := range b.of("pod") {
			got = append(got, tr.Status)
		}
		if want := []record.Status{record.OK, record.Failed, record.OK}; !slices.Equal(got, want) {
			t.Errorf("its trials are %v, want %v", got, want)
		}
	})
}

func TestNothingLeftToMeasureEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host", probe: &platform.Unsupported{Feature: "everything", Remedy: "a computer"}})
		b.Cells = append(b.Cells, cells("unheard-of")...)
		b.Settings.MaxRounds = 100
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndFailed, 3)
		if got := b.of("unheard-of"); len(got) != 3 || got[0].Status != record.Failed || got[0].Reason != "no network unheard-of" {
			t.Errorf("a network that does not exist has the trials %+v", got)
		}
	})
}
