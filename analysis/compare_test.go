package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"nettoll/record"
)

func pairsOf(ratios ...float64) []pair {
	out := make([]pair, len(ratios))
	for i, r := range ratios {
		out[i] = pair{i + 1, 1000 * r, 1000}
	}
	return out
}

func TestCompare(t *testing.T) {
	lower := pairsOf(0.80, 0.81, 0.79, 0.82, 0.78, 0.80)
	higher := pairsOf(1.25, 1.24, 1.26, 1.23, 1.27, 1.25)
	for _, tt := range []struct {
		name   string
		pairs  []pair
		better record.Direction
		want   Verdict
		level  bool
	}{
		{"less throughput", lower, record.HigherIsBetter, Worse, true},
		{"more throughput", higher, record.HigherIsBetter, Better, true},
		{"less latency", lower, record.LowerIsBetter, Better, true},
		{"more latency", higher, record.LowerIsBetter, Worse, true},
		{"five rounds", lower[:5], record.HigherIsBetter, Indistinguishable, false},
		{"one round", lower[:1], record.HigherIsBetter, Indistinguishable, false},
		{"both ways", pairsOf(0.9, 1.1, 0.95, 1.05, 1.02, 0.97), record.HigherIsBetter, Indistinguishable, true},
		{"equal", pairsOf(1, 1, 1, 1, 1, 1), record.HigherIsBetter, Indistinguishable, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := compare(tt.pairs, tt.better, 0.95)
			if c.Verdict != tt.want || (c.Level > 0) != tt.level || c.N != len(tt.pairs) {
				t.Errorf("got %+v, want verdict %v", c, tt.want)
			}
			if c.Low > c.Ratio || c.Ratio > c.High {
				t.Errorf("ratio %v is outside of %v to %v", c.Ratio, c.Low, c.High)
			}
		})
	}
}

func TestCompareEstimate(t *testing.T) {
	c := compare(pairsOf(0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 4), record.HigherIsBetter, 0.95)
	if math.Abs(c.Ratio-0.5) > 1e-12 {
		t.Errorf("one wild pair moves the ratio from 0.5 to %v", c.Ratio)
	}
}

func TestCompareImpossible(t *testing.T) {
	for name, pairs := range map[string][]pair{
		"no pair":          nil,
		"zero of the cell": {{1, 0, 5}, {2, 5, 5}},
		"zero of native":   {{1, 5, 0}, {2, 5, 5}},
		"both zero":        {{1, 0, 0}},
		"too large":        {{1, math.MaxFloat64, math.SmallestNonzeroFloat64}},
		"too small":        {{1, math.SmallestNonzeroFloat64, math.MaxFloat64}},
	} {
		if c := compare(pairs, record.HigherIsBetter, 0.95); c != nil {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

// Whatever the ties, verdict, p-value and interval say the same.
func TestVerdictAgreesWithInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	verdicts := map[Verdict]int{}
	for range 20000 {
		pairs := make([]pair, 1+r.IntN(12))
		centre := 98 + r.IntN(5)
		for i := range pairs {
			pairs[i] = pair{i, float64(centre - 4 + r.IntN(9)), 100}
		}
		c := compare(pairs, record.HigherIsBetter, 0.95)
		verdicts[c.Verdict]++
		holdsOne := c.Low <= 1 && 1 <= c.High
		switch {
		case c.Level == 0 && c.Verdict != Indistinguishable,
			c.Level > 0 && (c.P < 0.05) == (c.Verdict == Indistinguishable),
			c.Level > 0 && holdsOne != (c.Verdict == Indistinguishable),
			c.Verdict == Better && c.Ratio <= 1, c.Verdict == Worse && c.Ratio >= 1:
			t.Fatalf("%+v contradicts itself; pairs %v", c, pairs)
		}
	}
	for _, v := range []Verdict{Better, Worse, Indistinguishable} {
		if verdicts[v] < 100 {
			t.Errorf("verdict %v came up only %d times", v, verdicts[v])
		}
	}
}

func TestPairUp(t *testing.T) {
	got := pairUp([]Point{{1, 10}, {2, 20}, {4, 40}, {5, 50}}, []Point{{2, 2}, {3, 3}, {5, 5}, {6, 6}})
	if len(got) != 2 || got[0] != (pair{2, 20, 2}) || got[1] != (pair{5, 50, 5}) {
		t.Errorf("got %v", got)
	}
}
