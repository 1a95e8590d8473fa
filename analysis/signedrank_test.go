package analysis

import (
	"math"
	"math/rand/v2"
	"testing"
)

// bySigns is the two-sided p-value by trying all assignments of signs.
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

// The distribution with ties must be that of all assignments of signs.
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

// Where enumeration ends the approximation must go on without a step.
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
