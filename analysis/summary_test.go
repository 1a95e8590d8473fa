package analysis

import (
	"math"
	"slices"
	"testing"
)

func upTo(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(n - i)
	}
	return x
}

// The interval reaches from the k-th smallest to the k-th largest of the geometric means of two
// values each, k−1 being the critical value in tables of the signed-rank test.
func TestSummarize(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n, k  int
		level float64
		want  float64 // level reached
	}{
		{"one", 1, 0, 0.95, 0},
		{"five are too few", 5, 0, 0.95, 0},
		{"five do for 90 %", 5, 1, 0.90, 1 - 2.0/32},
		{"six", 6, 1, 0.95, 1 - 2.0/64},
		{"seven leave out the extremes", 7, 3, 0.95, 1 - 2.0*3/128},
		{"eight", 8, 4, 0.95, 1 - 2.0*5/256},
		{"ten", 10, 9, 0.95, 1 - 2.0*25/1024},
		{"twenty", 20, 53, 0.95, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values := upTo(tt.n)
			var walsh []float64
			for i, a := range values {
				for _, b := range values[i:] {
					walsh = append(walsh, math.Sqrt(a*b))
				}
			}
			slices.Sort(walsh)
			m := len(walsh)
			want := Summary{N: tt.n, Median: float64(tt.n+1) / 2, Min: 1, Max: float64(tt.n), Interval: Interval{Low: 1, High: float64(tt.n)}}
			want.Estimate = math.Sqrt(walsh[(m-1)/2] * walsh[m/2])
			if tt.k > 0 {
				want.Low, want.High = walsh[tt.k-1], walsh[m-tt.k]
			}
			got := summarize(values, tt.level)
			if tt.want > 0 && math.Abs(got.Level-tt.want) > 1e-9 || (got.Level > 0) != (tt.k > 0) {
				t.Errorf("level %v, want %v", got.Level, tt.want)
			}
			for _, f := range []struct {
				name string
				a, b float64
			}{{"estimate", got.Estimate, want.Estimate}, {"low", got.Low, want.Low}, {"high", got.High, want.High}, {"median", got.Median, want.Median},
				{"min", got.Min, want.Min}, {"max", got.Max, want.Max}} {
				if math.Abs(f.a-f.b) > 1e-9 {
					t.Errorf("%s is %v, want %v", f.name, f.a, f.b)
				}
			}
		})
	}
	most := math.MaxFloat64
	if got := summarize([]float64{most, most}, 0.95); got != (Summary{N: 2, Estimate: most, Interval: Interval{Low: most, High: most}, Median: most, Min: most, Max: most}) {
		t.Errorf("the largest numbers are %+v", got)
	}
}

// Of what is 0 at times there is no logarithm: the estimate is the median, from order statistics.
func TestSummarizeWithZeros(t *testing.T) {
	for _, tt := range []struct {
		n     int
		low   float64
		high  float64
		level float64
	}{{5, 0, 4, 0}, {6, 0, 5, 1 - 2.0/64}, {8, 0, 7, 1 - 2.0/256}, {9, 1, 7, 1 - 2.0*10/512}, {20, 5, 14, 1 - 2.0*21700/1048576}} {
		values := upTo(tt.n)
		for i := range values {
			values[i]--
		}
		got := summarize(values, 0.95)
		middle := float64(tt.n-1) / 2
		if math.Abs(got.Level-tt.level) > 1e-9 || got.Estimate != middle || got.Median != middle || got.Low != tt.low || got.High != tt.high {
			t.Errorf("%d values: %+v, want %v to %v at %v", tt.n, got, tt.low, tt.high, tt.level)
		}
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
