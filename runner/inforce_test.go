package runner_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/record"
)

// TestTimesInForce checks that the first trial of each build, and no other one, records how long it took until something was in
// force, and that networks which measure that are built while no other one is.
func TestTimesInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var building, most atomic.Int32
		connect := func(measures bool) func(context.Context, int) error {
			return func(context.Context, int) error {
				now := building.Add(1)
				defer building.Add(-1)
				time.Sleep(time.Second)
				if measures && (now != 1 || building.Load() != 1) {
					t.Errorf("%d and then %d networks are being built, one of which measures that", now, building.Load())
				}
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				return nil
			}
		}
		services, policies := []string{record.Services}, []string{record.Policies}
		b := newBench(
			&way{name: "host", connect: connect(false)},
			&way{name: "a", connect: connect(true), has: services, inForce: record.InForce{Service: 0.25}},
			&way{name: "b", connect: connect(false)},
			&way{name: "c", connect: connect(true), has: services, inForce: record.InForce{Service: 0.5}},
			&way{name: "d", connect: connect(false), has: policies}, // no cell has any
		)
		b.Settings.Turns, b.Settings.Duration = true, 0.1
		for i := range b.Cells {
			b.Cells[i].Services = 10
		}
		again := slices.Clone(b.Cells)
		for i := range again {
			again[i].Family = 6
		}
		b.Cells = append(b.Cells, again...)
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 3)
		if most.Load() != 3 {
			t.Errorf("%d of the other three networks were built at once", most.Load())
		}
		want := map[string]record.InForce{"a": {Service: 0.25}, "c": {Service: 0.5}}
		for round := 1; round <= 3; round++ {
			for name := range b.ways {
				var got []record.InForce
				for _, tr := range b.of(name) {
					if tr.Round == round && tr.InForce != nil {
						got = append(got, *tr.InForce)
					}
				}
				if in, measured := want[name]; measured && !slices.Equal(got, []record.InForce{in}) || !measured && got != nil {
					t.Errorf("round %d of %s: %+v, want %+v", round, name, got, want[name])
				}
			}
		}
	})
}
