package analysis

import (
	"math"
	"slices"
	"sort"
)

// pseudomedian is the Hodges–Lehmann estimate of the centre of differences: the
// median of the Walsh averages (xᵢ+xⱼ)/2 for i ≤ j. Hodges and Lehmann, Estimates
// of location based on rank tests, Ann. Math. Statist. 34 (1963). With many
// values 29 % of them may be wild; it loses 4.5 % of efficiency against the mean where
// none are.
func pseudomedian(differences []float64) float64 {
	x := slices.Sorted(slices.Values(differences))
	m := walshCount(len(x))
	return (walshSelect(x, (m+1)/2) + walshSelect(x, m/2+1)) / 2
}

// pseudomedianInterval is Tukey's interval of the pseudo-median: from the k-th
// smallest to the k-th largest Walsh average, k−1 being the largest value of the
// signed-rank statistic that the two-sided test rejects at 1−level. It holds
// exactly the centres that the test does not reject, so interval and test
// cannot disagree, and covers with at least the level for every symmetric
// distribution of differences. reached is the exact level; where it is 0, there
// are too few differences for the level and the interval holds all of them. See
// Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed.,
// section 3.3.
//
// It was chosen over the percentile bootstrap of the pseudo-median with
// Hesterberg's (2015) expansion for small samples. In 2,000 simulated series
// each, that covered 94.1 % (normal), 95.2 % (one value in ten with five times
// the deviation) and 93.6 % (Student's t, 3 degrees of freedom) with six
// differences, where this one covers 96.6, 97.3 and 96.5 %. With seven or more
// this one is at most 2 % wider, or narrower, and the bootstrap contradicts the
// test in 0.4 to 1.3 % of series, with six in up to 2.9 %.
//
// plain is the distribution of the statistic for as many ranks without ties.
func pseudomedianInterval(differences []float64, plain ranksNull, level float64) (low, high, reached float64) {
	x := slices.Sorted(slices.Values(differences))
	m := walshCount(len(x))
	k := sort.Search(m/2+1, func(t int) bool { return plain.twoSided(float64(t)) >= 1-level })
	if k == 0 {
		return x[0], x[len(x)-1], 0
	}
	return walshSelect(x, k), walshSelect(x, m+1-k), 1 - plain.twoSided(float64(k-1))
}

// withstands reports whether the interval of the pseudo-median of n values stays where it is,
// however far so many of them lie: fewer Walsh averages have one of these in them than
// lie beyond the interval's end.
func withstands(n, outliers int, level float64) bool {
	plain := plainNull(n)
	k := sort.Search(walshCount(n)/2+1, func(t int) bool { return plain.twoSided(float64(t)) >= 1-level })
	return k > walshCount(n)-walshCount(n-outliers)
}

// walshCount is the number of Walsh averages of n values.
func walshCount(n int) int { return n * (n + 1) / 2 }

// walshAtMost counts the Walsh averages of sorted values that are at most v.
func walshAtMost(sorted []float64, v float64) int {
	count, j := 0, len(sorted)-1
	for i := range sorted {
		for j >= i && (sorted[i]+sorted[j])/2 > v {
			j--
		}
		if j < i {
			break
		}
		count += j - i + 1
	}
	return count
}

// walshSelect is the k-th smallest Walsh average, counted from 1. It halves the
// range of floating-point numbers until one is left, which needs 64 steps of n
// and no list of all averages.
func walshSelect(sorted []float64, k int) float64 {
	low, high := floatOrder(sorted[0]), floatOrder(sorted[len(sorted)-1])
	for low < high {
		middle := low + (high-low)/2
		if walshAtMost(sorted, orderFloat(middle)) >= k {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return orderFloat(low)
}

// floatOrder maps floats to integers in the same order.
func floatOrder(f float64) uint64 {
	b := math.Float64bits(f)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// orderFloat is the inverse of floatOrder.
func orderFloat(u uint64) float64 {
	if u>>63 == 1 {
		return math.Float64frombits(u &^ (1 << 63))
	}
	return math.Float64frombits(^u)
}
