package analysis

import "gonum.org/v1/gonum/mathext"

// binomialAtLeast is the probability of k or more successes in n trials of
// probability p, 0 < p < 1, by the incomplete beta function.
func binomialAtLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// BinomialInterval is the exact interval of a probability of which k of n trials
// came true. Clopper and Pearson, The use of confidence or fiducial limits
// illustrated in the case of the binomial, Biometrika 26 (1934).
func BinomialInterval(k, n int, level float64) (low, high float64) {
	tail := (1 - level) / 2
	low, high = 0, 1
	if k > 0 {
		low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), tail)
	}
	if k < n {
		high = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-tail)
	}
	return low, high
}
