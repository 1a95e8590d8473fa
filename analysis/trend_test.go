package analysis

import (
	"math"
	"testing"
)

func rising(n int, by func(i int) float64) []Point {
	out := make([]Point, n)
	for i := range out {
		out[i] = Point{i + 1, by(i)}
	}
	return out
}

func TestTrendP(t *testing.T) {
	for _, tt := range []struct {
		name   string
		points []Point
		want   float64
	}{
		{"one", rising(1, func(int) float64 { return 1 }), 1},
		{"constant", rising(9, func(int) float64 { return 1 }), 1},
		{"rises", rising(6, func(i int) float64 { return float64(i) }), 2.0 / 720},
		{"falls", rising(6, func(i int) float64 { return float64(-i) }), 2.0 / 720},
		// S = 4 of 6: one inversion, probability 4/24, twice.
		{"one step back", []Point{{1, 1}, {2, 3}, {3, 2}, {4, 4}}, 8.0 / 24},
		// Variance with ties (10·9·25 − 5·2·1·9)/18 = 120, S = 40.
		{"ties", rising(10, func(i int) float64 { return float64(i / 2) }), math.Erfc(39 / math.Sqrt(120) / math.Sqrt2)},
	} {
		if got := trendP(tt.points); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: p is %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestTrendApproximation(t *testing.T) {
	for _, s := range []int{105, 135, 165} {
		pairs := exactTrend * (exactTrend - 1) / 2
		exact := 2 * inversionsAtMost(exactTrend, (pairs-s)/2)
		n := float64(exactTrend)
		normal := math.Erfc(float64(s-1) / math.Sqrt(n*(n-1)*(2*n+5)/18) / math.Sqrt2)
		if math.Abs(exact-normal) > 0.001 {
			t.Errorf("S=%d: exact %v, normal %v", s, exact, normal)
		}
	}
}

func TestTrendChange(t *testing.T) {
	fall := rising(11, func(i int) float64 { return 100 - 2*float64(i) })
	fall[5].Value = 900
	// From 100 to 80, whatever the wild value, along a line through the logarithms.
	if got := trendChange(fall); math.Abs(got+0.2) > 0.01 {
		t.Errorf("change %v", got)
	}
	// From 100 to 3: a straight line over the median would say −187 %.
	steep := rising(8, func(i int) float64 { return 100 * math.Pow(0.6, float64(i)) })
	if got := trendChange(steep); math.Abs(got-(math.Pow(0.6, 7)-1)) > 1e-9 {
		t.Errorf("change %v, want %v", got, math.Pow(0.6, 7)-1)
	}
	if got := trendChange(rising(4, func(int) float64 { return 0 })); got != 0 {
		t.Errorf("change of zeros is %v", got)
	}
}
