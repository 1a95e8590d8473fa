package analysis

import (
	"math"
	"slices"
	"sort"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
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

// withstands reports whether the interval of the pseudo-median of n values is independent of
// how far so many outliers lie: fewer Walsh averages contain an outlier than lie beyond
// the interval's end.
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

// exactPairs is the largest number of pairs for which the signed-rank
// distribution is enumerated; beyond it the normal approximation is right to
// 0.002, and to 0.0005 where p is 0.05 or less.
const exactPairs = 100

// ranksNull is the distribution of Wilcoxon's signed-rank statistic T, the sum
// of the ranks of the positive differences, when each sign is a fair coin.
type ranksNull struct {
	atMost   []float64 // P(T ≤ i/2); nil where it was not enumerated
	mean, sd float64
}

// newRanksNull enumerates the distribution over all 2ⁿ assignments of signs to
// the ranks by dynamic programming: adding a rank r turns the probabilities
// p(t) into (p(t) + p(t−r))/2. Mid-ranks are halves, so everything is counted in
// halves. The probabilities are sums of powers of two and exact up to 52 ranks.
// See Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed.,
// section 3.1, with the conditional distribution given there for ties.
func newRanksNull(ranks []float64) ranksNull {
	var d ranksNull
	var sum, squares float64
	for _, r := range ranks {
		sum += r
		squares += r * r
	}
	d.mean, d.sd = sum/2, math.Sqrt(squares)/2
	if len(ranks) > exactPairs {
		return d
	}
	p := make([]float64, int(2*sum)+1)
	p[0] = 1
	top := 0
	for _, r := range ranks {
		step := int(2 * r)
		top += step
		for t := top; t >= 0; t-- {
			p[t] /= 2
			if t >= step {
				p[t] += p[t-step] / 2
			}
		}
	}
	for t := 1; t < len(p); t++ {
		p[t] += p[t-1]
	}
	d.atMost = p
	return d
}

// plainNull is the distribution for n ranks without ties. Every figure and comparison of a run
// asks for that of its number of rounds, so each is enumerated once.
func plainNull(n int) ranksNull {
	plainNulls.Lock()
	defer plainNulls.Unlock()
	d, known := plainNulls.of[n]
	if !known {
		d = newRanksNull(plainRanks(n))
		if n <= exactPairs { // others hold nothing that would be worth keeping
			plainNulls.of[n] = d
		}
	}
	return d
}

var plainNulls = struct {
	sync.Mutex
	of map[int]ranksNull
}{of: map[int]ranksNull{}}

// twoSided is the probability of a statistic as extreme as t or more so, t
// being the smaller of T and its mirror image.
func (d ranksNull) twoSided(t float64) float64 {
	switch {
	case t < 0:
		return 0
	case d.sd == 0:
		return 1
	case d.atMost == nil:
		return min(1, 2*distuv.UnitNormal.CDF((t+0.5-d.mean)/d.sd))
	case int(2*t) >= len(d.atMost):
		return 1
	}
	return min(1, 2*d.atMost[int(2*t)])
}

// plainRanks are the ranks of n differences without ties.
func plainRanks(n int) []float64 {
	r := make([]float64, n)
	for i := range r {
		r[i] = float64(i + 1)
	}
	return r
}

// midRanks are the ranks of the absolute differences that are not 0, ties
// sharing the mean of their ranks, and T of the positive and the negative.
func midRanks(differences []float64) (ranks []float64, positive, negative float64) {
	d := slices.DeleteFunc(slices.Clone(differences), func(v float64) bool { return v == 0 })
	sizes := make([]float64, len(d))
	for i, v := range d {
		sizes[i] = math.Abs(v)
	}
	ranks = midRanksOf(sizes)
	for i, r := range ranks {
		if d[i] > 0 {
			positive += r
		} else {
			negative += r
		}
	}
	slices.Sort(ranks)
	return ranks, positive, negative
}

// signedRankP is the two-sided p-value of Wilcoxon's signed-rank test of
// differences around 0. Where both of a pair come from one distribution, however
// skewed, their differences are symmetric around 0, which is all that the test
// asks for: it raises no more false alarms than promised. Differences of 0 are left out, as Wilcoxon did, and
// ties have mid-ranks with the exact distribution that belongs to them. Where
// there are zeros or ties the p-value of the test that counts them against a
// difference is taken when it is larger, so that the test never says more than
// the interval of pseudomedianInterval, which is the inversion of that one.
// plain is the distribution for as many ranks without ties.
func signedRankP(differences []float64, plain ranksNull) float64 {
	sorted := slices.Sorted(slices.Values(differences))
	notAbove := walshAtMost(sorted, 0)
	notBelow := walshCount(len(sorted)) - walshAtMost(sorted, math.Nextafter(0, -1))
	p := plain.twoSided(float64(min(notAbove, notBelow)))
	ranks, positive, negative := midRanks(differences)
	if slices.Equal(ranks, plainRanks(len(differences))) {
		return p
	}
	return max(p, newRanksNull(ranks).twoSided(min(positive, negative)))
}
