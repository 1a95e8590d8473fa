package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nettoll/record"
)

// walsh lists all Walsh averages in order.
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
