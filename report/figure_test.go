package report

import (
	"slices"
	"testing"

	"nettoll/analysis"
)

func TestAxisPlaces(t *testing.T) {
	for _, tt := range []struct {
		values, want []float64
		log          bool
	}{
		{[]float64{1, 2, 4, 8, 16, 20}, []float64{1, 2, 4, 8, 16, 20}, true},
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}, false},
		{[]float64{1, 20}, []float64{1, 20}, false},
		{[]float64{0, 10, 100, 1000}, []float64{0, 1, 2, 3}, false},
		{[]float64{0, 1, 2, 3}, []float64{0, 1, 2, 3}, false},
		{nil, nil, false},
	} {
		var ticks []analysis.Tick
		for _, v := range tt.values {
			ticks = append(ticks, analysis.Tick{Value: v})
		}
		got, log := axisPlaces(ticks)
		if !slices.Equal(got, tt.want) || log != tt.log {
			t.Errorf("%v: %v, %v; want %v, %v", tt.values, got, log, tt.want, tt.log)
		}
	}
}

// Bars in groups have the colours of their networks; what is not different is told by its sign.
func TestRatioBarsSayWhatIsNotKnown(t *testing.T) {
	for outcome, want := range map[analysis.Outcome]string{
		analysis.Different: "55%", analysis.NotKnown: "55% ?", analysis.Same: "55% =", analysis.Untested: "55% untested",
	} {
		if b := ratioBar(analysis.Comparison{Value: 0.55, Outcome: outcome}); b.Text != want {
			t.Errorf("%v: %q, want %q", outcome, b.Text, want)
		}
	}
}
