package analysis

import (
	"math"
	"testing"
)

func TestBinomialAtLeast(t *testing.T) {
	for _, tt := range []struct {
		k, n int
		p    float64
		want float64
	}{{0, 10, 0.05, 1}, {1, 10, 0.05, 1 - math.Pow(0.95, 10)}, {10, 10, 0.5, 1.0 / 1024}, {11, 10, 0.5, 0}, {9, 10, 0.5, 11.0 / 1024}} {
		if got := binomialAtLeast(tt.k, tt.n, tt.p); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("P(B(%d, %v) ≥ %d) is %v, want %v", tt.n, tt.p, tt.k, got, tt.want)
		}
	}
}

func TestBinomialInterval(t *testing.T) {
	for _, tt := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 20, 0, 1 - math.Pow(0.025, 1.0/20)},
		{20, 20, math.Pow(0.025, 1.0/20), 1},
		{1, 20, 0.001265, 0.248733},
		{5, 10, 0.187086, 0.812914},
	} {
		low, high := BinomialInterval(tt.k, tt.n, 0.95)
		if math.Abs(low-tt.low) > 1e-6 || math.Abs(high-tt.high) > 1e-6 {
			t.Errorf("%d of %d: %v to %v, want %v to %v", tt.k, tt.n, low, high, tt.low, tt.high)
		}
	}
}
