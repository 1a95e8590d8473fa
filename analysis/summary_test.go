package analysis

import (
	"math"
	"testing"
)

func TestSummarize(t *testing.T) {
	up := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(n - i)
		}
		return x
	}
	for _, tt := range []struct {
		name   string
		values []float64
		level  float64
		want   Summary
	}{
		{"one", []float64{4}, 0.95, Summary{1, 4, 4, 4, 4, 4, 0}},
		{"five are too few", up(5), 0.95, Summary{5, 3, 1, 5, 1, 5, 0}},
		{"five do for 90 %", up(5), 0.90, Summary{5, 3, 1, 5, 1, 5, 1 - 2.0/32}},
		{"six", up(6), 0.95, Summary{6, 3.5, 1, 6, 1, 6, 1 - 2.0/64}},
		{"eight keep the extremes", up(8), 0.95, Summary{8, 4.5, 1, 8, 1, 8, 1 - 2.0/256}},
		{"nine", up(9), 0.95, Summary{9, 5, 2, 8, 1, 9, 1 - 2.0*10/512}},
		{"twenty", up(20), 0.95, Summary{20, 10.5, 6, 15, 1, 20, 1 - 2.0*21700/1048576}},
		{"largest numbers", []float64{math.MaxFloat64, math.MaxFloat64}, 0.95,
			Summary{2, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := summarize(tt.values, tt.level)
			if math.Abs(got.Level-tt.want.Level) > 1e-9 {
				t.Errorf("level %v, want %v", got.Level, tt.want.Level)
			}
			got.Level = tt.want.Level
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestMedianOfMixedSigns(t *testing.T) {
	if got := median([]float64{-math.MaxFloat64, math.MaxFloat64}); got != 0 {
		t.Errorf("got %v, want 0", got)
	}
}

func TestVariation(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{5}, 0},
		{[]float64{0, 0}, 0},
		{[]float64{2, 4, 4, 4, 5, 5, 7, 9}, math.Sqrt(32.0/7) / 5},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, 0},
	} {
		if got := variation(tt.values); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("variation of %v is %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestOutliers(t *testing.T) {
	series := func(v ...float64) []Point {
		out := make([]Point, len(v))
		for i := range v {
			out[i] = Point{i + 1, v[i]}
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		points []Point
		rounds []int
	}{
		{"none", series(10, 10.1, 9.9, 10.2, 9.8, 10), nil},
		{"low", series(10, 10.1, 9.9, 2, 9.8, 10), []int{4}},
		// Median 10.05, MAD 0.3: scores of 3.49 and 3.60 on either side of the limit.
		{"below the limit", series(9.75, 9.75, 10.05, 10.35, 11.6), nil},
		{"above the limit", series(9.75, 9.75, 10.05, 10.35, 11.65), []int{5}},
		{"all equal but one", series(10, 10, 10, 10, 10, 10, 10, 12), []int{8}},
		{"close, whatever the score", series(10, 10, 10, 10, 10, 10, 10, 10.4), nil},
		{"too few", series(10, 10, 10, 50), nil},
		{"zeros", series(0, 0, 0, 0, 0, 7), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := outliers(tt.points, 0.05)
			if len(got) != len(tt.rounds) {
				t.Fatalf("got %v, want rounds %v", got, tt.rounds)
			}
			for i, p := range got {
				if p.Round != tt.rounds[i] {
					t.Errorf("got %v, want rounds %v", got, tt.rounds)
				}
			}
		})
	}
}
