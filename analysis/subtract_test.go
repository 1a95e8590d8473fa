package analysis

import (
	"math"
	"testing"

	"nettoll/record"
)

func TestSubtract(t *testing.T) {
	of := func(native float64, cells ...float64) []pair {
		var out []pair
		for i, v := range cells {
			out = append(out, pair{i + 1, v, native})
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		pairs []pair
		want  Outcome
		value float64
	}{
		{"nothing against nothing", of(0, 0, 0, 0, 0, 0, 0), Same, 0},
		{"loss", of(0, 0.1, 0.11, 0.09, 0.1, 0.12, 0.08), Different, 0.1},
		{"less loss", of(0.2, 0.1, 0.11, 0.09, 0.1, 0.12, 0.08), Different, -0.1},
		{"now and then", of(0, 0, 0.1, 0, 0, 0, 0), NotKnown, 0},
		{"a little more of much", of(0.2, 0.201, 0.202, 0.201, 0.203, 0.202, 0.201), Same, 0.0015},
		{"too few", of(0, 1, 1, 1), Untested, 1},
	} {
		d := subtract(tt.pairs, record.LowerIsBetter, at95)
		if d == nil || d.Outcome != tt.want || math.Abs(d.Value-tt.value) > 1e-9 || d.N != len(tt.pairs) {
			t.Errorf("%s: %+v, want %v and %v", tt.name, d, tt.want, tt.value)
		}
	}
	if d := subtract(of(-math.MaxFloat64, math.MaxFloat64), record.LowerIsBetter, at95); d != nil {
		t.Errorf("beyond the range of numbers is %+v", d)
	}
	if subtract(nil, record.LowerIsBetter, at95) != nil {
		t.Error("no pair has a difference")
	}
}

// A ratio of shares says little and one of 0 to 0 nothing; a ratio of anything
// else is enough.
func TestDifferenceStandsForRatio(t *testing.T) {
	set := func(name, unit string, host, bridge float64) Figure {
		trials := pairedTrials(3, 8, 0.9, 0.01)
		for i := range trials {
			v := host
			if trials[i].Cell.Network == "bridge" {
				v = bridge
			}
			trials[i].Metrics[name] = record.Metric{Value: v, Unit: unit}
		}
		f, _ := rowOf(t, Analyze(fileOf(trials...)), "bridge").Figure(name)
		return f
	}
	for _, tt := range []struct {
		name, unit       string
		host, bridge     float64
		ratio, different bool
	}{
		{record.Loss, "ratio", 0, 0, false, true},
		{record.Loss, "ratio", 0, 0.1, false, true},
		{record.Loss, "ratio", 0.1, 0.2, true, true},
		{record.Retransmits, "segments", 0, 10, false, true},
		{record.Retransmits, "segments", 5, 10, true, false},
		{record.LatencyAdded, "s", 1e-5, -1e-6, false, true},
		{record.Jitter, "s", 1e-5, 2e-5, true, true}, // times have a size, too,
		{record.Jitter, "s", 1e-5, -1, false, false}, // cannot be
	} {
		f := set(tt.name, tt.unit, tt.host, tt.bridge)
		if n := map[bool]int{true: 8}[tt.ratio || tt.different]; f.Summary.N != n || (f.Ratio != nil) != tt.ratio || (f.Difference != nil) != tt.different {
			t.Errorf("%s of %v against %v is %+v", tt.name, tt.bridge, tt.host, f)
		}
		if f.Difference != nil && math.Abs(f.Difference.Value-(tt.bridge-tt.host)) > 1e-12 {
			t.Errorf("difference is %+v", f.Difference)
		}
	}
}
