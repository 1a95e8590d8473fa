package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nettoll/record"
)

func upTo(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(n - i)
	}
	return x
}

// The interval reaches from the k-th smallest to the k-th largest of the geometric means
// of two values each, k−1 being the critical value in tables of the signed-rank test.
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

// Values that are sometimes 0 have no logarithm: the estimate is the median, from order statistics.
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
		// Median 10.05, MAD 0.3: scores of 3.49 and 3.60, on either side of the limit.
		{"below the limit", series(9.75, 9.75, 10.05, 10.35, 11.6), nil},
		{"above the limit", series(9.75, 9.75, 10.05, 10.35, 11.65), []int{5}},
		{"all equal but one", series(10, 10, 10, 10, 10, 10, 10, 12), []int{8}},
		{"close, whatever the score", series(10, 10, 10, 10, 10, 10, 10, 10.4), nil},
		// Median and MAD are 10 and 0, mean deviations 0.5/7 and 0.55/7: limits of 3.5·1.2533 times these, 0.313 and 0.345.
		{"below the limit, most being equal", series(10, 10, 10, 10, 11, 9, 13), nil},
		{"above the limit, most being equal", series(10, 10, 10, 10, 11, 9, 13.5), []int{7}},
		{"one of as few as possible", series(10, 10, 10, 10, 12), []int{5}},
		{"too few", series(10, 10, 10, 50), nil},
		{"too few, of which none are equal", series(9.9, 10, 10.1, 50), nil},
		{"zeros", series(0, 0, 0, 0, 0, 7), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := record.Each(outliers(tt.points, 0.05), func(p Point) int { return p.Round })
			if !slices.Equal(got, tt.rounds) {
				t.Errorf("got rounds %v, want %v", got, tt.rounds)
			}
		})
	}
}

// walsh returns all Walsh averages in order.
func walsh(x []float64) []float64 {
	var w []float64
	for i := range x {
		for _, v := range x[i:] {
			w = append(w, (x[i]+v)/2)
		}
	}
	slices.Sort(w)
	return w
}

func TestWalshSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		x := make([]float64, 1+r.IntN(15))
		for i := range x {
			x[i] = math.Round(8*r.NormFloat64()) / float64(1+r.IntN(3))
		}
		slices.Sort(x)
		w := walsh(x)
		for k := range w {
			if got := walshSelect(x, k+1); got != w[k] {
				t.Fatalf("average %d of %v is %v, want %v", k+1, x, got, w[k])
			}
		}
		if got, want := pseudomedian(x), median(w); math.Abs(got-want) > 1e-12 {
			t.Fatalf("pseudo-median of %v is %v, want %v", x, got, want)
		}
	}
}

// k−1 is the largest T with 2·P(T) < 0.05 in the tables of the signed-rank test.
func TestPseudomedianInterval(t *testing.T) {
	for _, tt := range []struct {
		n, k  int
		level float64
	}{{6, 1, 0.96875}, {7, 3, 0.953125}, {8, 4, 0.9609375}, {10, 9, 0.951171875}, {12, 14, 0.95751953125}} {
		r := rand.New(rand.NewPCG(uint64(tt.n), 0))
		x := make([]float64, tt.n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		w := walsh(x)
		low, high, level := pseudomedianInterval(x, newRanksNull(plainRanks(len(x))), 0.95)
		if low != w[tt.k-1] || high != w[len(w)-tt.k] || math.Abs(level-tt.level) > 1e-12 {
			t.Errorf("n=%d: %v to %v at %v, want %v to %v at %v", tt.n, low, high, level, w[tt.k-1], w[len(w)-tt.k], tt.level)
		}
	}
	low, high, level := pseudomedianInterval([]float64{3, 1, 2}, newRanksNull(plainRanks(3)), 0.95)
	if low != 1 || high != 3 || level != 0 {
		t.Errorf("three values: %v to %v at %v, want 1 to 3 at 0", low, high, level)
	}
}

func TestLeastPairs(t *testing.T) {
	for level, want := range map[float64]int{0.5: 3, 0.9: 5, 0.95: 6, 0.99: 8, 0.999: 11} {
		if got := record.LeastRounds(1, level); got != want {
			t.Errorf("at %v: %d, want %d", level, got, want)
		}
		for n := range 12 {
			if n == 0 {
				continue
			}
			_, _, reached := pseudomedianInterval(plainRanks(n), newRanksNull(plainRanks(n)), level)
			if (reached > 0) != (n >= want) {
				t.Errorf("at %v with %d pairs: level %v", level, n, reached)
			}
			if k, _ := medianRank(n, level); (k > 0) != (n >= want) {
				t.Errorf("at %v with %d values: rank %d of the median", level, n, k)
			}
		}
	}
}

// bySigns is the two-sided p-value from all assignments of signs.
func bySigns(d []float64) float64 {
	ranks, positive, negative := midRanks(d)
	extreme := 0
	for signs := range 1 << len(ranks) {
		var t, all float64
		for i, r := range ranks {
			all += r
			if signs>>i&1 == 1 {
				t += r
			}
		}
		if min(t, all-t) <= min(positive, negative) {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<len(ranks))
}

func TestSignedRankP(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    []float64
		want float64
	}{
		{"five equal signs", []float64{1, 2, 3, 4, 5}, 2.0 / 32},
		{"six equal signs", []float64{1, 2, 3, 4, 5, 6}, 2.0 / 64},
		{"six tied", []float64{2, 2, 2, 2, 2, 2}, 2.0 / 64},
		{"one against", []float64{-1, 2, 3, 4, 5, 6, 7, 8}, 4.0 / 256},
		// T = 3, the largest value that eight pairs reject: five of 256 assignments give at most 3.
		{"largest that rejects", []float64{1, 2, -3, 4, 5, 6, 7, 8}, 10.0 / 256},
		{"smallest that does not", []float64{1, 2, 3, -4, 5, 6, 7, 8}, 14.0 / 256},
		{"nothing differs", []float64{0, 0, 0, 0, 0, 0}, 1},
		{"one zero counts against", []float64{0, 1, 2, 3, 4, 5}, 4.0 / 64},
		{"balanced", []float64{-1, 1, -2, 2}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := signedRankP(tt.d, newRanksNull(plainRanks(len(tt.d)))); math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("p is %v, want %v", got, tt.want)
			}
		})
	}
}

// The distribution with ties must equal that of all assignments of signs.
func TestSignedRankTies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		d := make([]float64, 4+r.IntN(9))
		for i := range d {
			d[i] = float64(r.IntN(9) - 3)
		}
		ranks, positive, negative := midRanks(d)
		got := newRanksNull(ranks).twoSided(min(positive, negative))
		if want := min(1, bySigns(d)); math.Abs(got-want) > 1e-12 {
			t.Fatalf("p of %v is %v, want %v", d, got, want)
		}
		if p := signedRankP(d, newRanksNull(plainRanks(len(d)))); p < got {
			t.Fatalf("p of %v is %v, below %v", d, p, got)
		}
	}
}

// Where enumeration ends the approximation must continue without a step.
func TestSignedRankApproximation(t *testing.T) {
	ranks := plainRanks(exactPairs)
	exact, approximate := newRanksNull(ranks), newRanksNull(ranks)
	approximate.atMost = nil
	for s := 1500.0; s < 2600; s += 50 {
		if e, a := exact.twoSided(s), approximate.twoSided(s); math.Abs(e-a) > 2e-3 || e < 0.05 && math.Abs(e-a) > 5e-4 {
			t.Errorf("T=%v: exact %v, approximate %v", s, e, a)
		}
	}
}
