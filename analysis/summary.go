package analysis

import (
	"math"
	"slices"
	"sort"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"nettoll/record"
)

// Summary describes where the values of repeated trials lie.
type Summary struct {
	N int `json:"n"`
	// Estimate is their location: the pseudo-median of their logarithms if all are above 0, so that
	// it is consistent with ratios, which are estimated in the same way; otherwise the median.
	Estimate float64                    `json:"estimate"`
	Interval `json:"interval,omitzero"` // of Estimate; from Min to Max if N is too small for the level
	Median   float64                    `json:"median"`
	Min      float64                    `json:"min"`
	Max      float64                    `json:"max"`
}

// Interval is the interval of an estimate.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"` // the level reached; 0 if there are too few values for the requested level
}

// IsZero reports whether there is no interval at the requested level.
func (i Interval) IsZero() bool { return i.Level == 0 }

// summarize describes the location of values, at the level. It needs at least one value, and every value finite.
//
// The interval of a pseudo-median is Tukey's, see pseudomedianInterval. It covers with at least the level
// if the logarithms of values are spread symmetrically, and at 7 and 8 rounds is a third narrower than
// that of the median. If a value is 0 or less, as in metrics that are mostly 0, the interval is the
// median's: from the k-th smallest to the k-th largest value. The number of values below the true median
// is binomial with probability ½, whatever the distribution of the values, so that covers with probability
// 1 − 2·P(B(n, ½) ≤ k−1); k is the largest that keeps this at or above the level. See Conover, Practical
// Nonparametric Statistics, 3rd ed., section 3.2. Summary.Level is the probability reached.
func summarize(values []float64, level float64) Summary {
	x := slices.Sorted(slices.Values(values))
	n := len(x)
	s := Summary{N: n, Median: median(x), Interval: Interval{Low: x[0], High: x[n-1]}, Min: x[0], Max: x[n-1]}
	s.Estimate = s.Median
	if x[0] <= 0 {
		if k, reached := medianRank(n, level); k > 0 {
			s.Low, s.High, s.Level = x[k-1], x[n-k], reached
		}
		return s
	}
	logs := record.Each(x, math.Log)
	// Rounding must not carry anything out of the range of the values.
	within := func(log float64) float64 { return min(max(math.Exp(log), s.Min), s.Max) }
	s.Estimate = within(pseudomedian(logs))
	low, high, reached := pseudomedianInterval(logs, plainNull(n), level)
	if reached > 0 {
		s.Low, s.High, s.Level = within(low), within(high), reached
	}
	return s
}

// halfWidth is the greater half of the interval over the estimate. There is none if the estimate is 0.
func halfWidth(low, estimate, high float64) (h float64, ok bool) {
	h = max(high/estimate-1, 1-low/estimate)
	if math.IsNaN(h) || math.IsInf(h, 0) {
		return 0, false
	}
	return h, true
}

// medianRank is k of the interval of the median, and the level that it
// reaches; 0 if even the extremes do not reach the level.
func medianRank(n int, level float64) (k int, reached float64) {
	logChoose, _ := math.Lgamma(float64(n + 1))
	below := 0.0
	for j := 0; 2*j < n; j++ {
		a, _ := math.Lgamma(float64(j + 1))
		b, _ := math.Lgamma(float64(n - j + 1))
		below += math.Exp(logChoose - a - b - float64(n)*math.Ln2)
		if 2*below >= 1-level {
			break
		}
		k, reached = j+1, 1-2*below
	}
	return k, reached
}

// medianOf is the median of values in any order; 0 if there are none.
func medianOf(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return median(slices.Sorted(slices.Values(values)))
}

// median of sorted values: the mean of the middle two if their number is
// even, written so that the largest numbers do not overflow.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	a, b := sorted[n/2-1], sorted[n/2]
	if a < 0 && b > 0 {
		return (a + b) / 2
	}
	return a + (b-a)/2
}

// variation is the coefficient of variation: standard deviation (n−1)
// over mean; 0 if the mean is not positive or there are fewer than two values.
func variation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	top := slices.Max(values)
	if top <= 0 {
		return 0
	}
	var mean, squares float64
	for _, v := range values {
		mean += v / top / float64(len(values))
	}
	if mean <= 0 {
		return 0
	}
	for _, v := range values {
		squares += (v/top - mean) * (v/top - mean)
	}
	return math.Sqrt(squares/float64(len(values)-1)) / mean
}

// outliers returns the points whose modified z-score, 0.6745·(x − median)/MAD, is beyond ±3.5: Iglewicz
// and Hoaglin, How to Detect and Handle Outliers (1993). If more than half of the values are equal, so
// that the MAD is 0, the mean absolute deviation times 1.2533 replaces MAD/0.6745: both estimate the
// standard deviation of normal values. A point within the share least of the median is not an outlier,
// however closely the others agree. Medians of fewer than five values are not reliable enough for this.
func outliers(points []Point, least float64) []Point {
	if len(points) < 5 {
		return nil
	}
	middle := medianOf(values(points))
	if middle <= 0 {
		return nil
	}
	deviation := func(p Point) float64 { return math.Abs(p.Value/middle - 1) }
	deviations := record.Each(points, deviation)
	mean := record.Sum(deviations, func(d float64) float64 { return d / float64(len(points)) })
	scale := medianOf(deviations) / 0.6745
	if scale == 0 {
		scale = 1.2533 * mean
	}
	return record.Those(points, func(p Point) bool {
		d := deviation(p)
		return d > 3.5*scale && d > least && !math.IsInf(d, 0)
	})
}

// pseudomedian is the Hodges–Lehmann estimate of the centre of differences: the median of the Walsh averages
// (xᵢ+xⱼ)/2 for i ≤ j. Hodges and Lehmann, Estimates of location based on rank tests, Ann. Math. Statist. 34
// (1963). With many values it tolerates up to 29 % of outliers; for normal values without outliers it has 4.5 %
// less efficiency than the mean.
func pseudomedian(differences []float64) float64 {
	x := slices.Sorted(slices.Values(differences))
	m := walshCount(len(x))
	return (walshSelect(x, (m+1)/2) + walshSelect(x, m/2+1)) / 2
}

// pseudomedianInterval is Tukey's interval of the pseudo-median: from the k-th smallest to the k-th largest
// Walsh average, k−1 being the largest value of the signed-rank statistic that the two-sided test rejects
// at 1−level. It contains exactly the centres that the test does not reject, so interval and test cannot
// disagree, and covers with at least the level for every symmetric distribution of differences. reached is
// the exact level; if it is 0, there are too few differences for the level and the interval spans all of
// them. See Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., section 3.3.
//
// It was chosen over the percentile bootstrap of the pseudo-median with Hesterberg's (2015) expansion for
// small samples. In 2,000 simulated series each, the bootstrap covered 94.1 % (normal), 95.2 % (one value in
// ten with five times the deviation) and 93.6 % (Student's t, 3 degrees of freedom) with six differences,
// where this interval covers 96.6, 97.3 and 96.5 %. With seven or more this interval is at most 2 % wider,
// or narrower, and the bootstrap contradicts the test in 0.4 to 1.3 % of series, with six in up to 2.9 %.
//
// plain is the distribution of the statistic for the same number of ranks without ties.
func pseudomedianInterval(differences []float64, plain ranksNull, level float64) (low, high, reached float64) {
	x := slices.Sorted(slices.Values(differences))
	m := walshCount(len(x))
	k := plain.critical(len(x), level)
	if k == 0 {
		return x[0], x[len(x)-1], 0
	}
	return walshSelect(x, k), walshSelect(x, m+1-k), 1 - plain.twoSided(float64(k-1))
}

// withstands reports whether the interval of the pseudo-median of n values is independent of how far off the
// given number of outliers lie: fewer Walsh averages contain an outlier than lie beyond the interval's end.
func withstands(n, outliers int, level float64) bool {
	return plainNull(n).critical(n, level) > walshCount(n)-walshCount(n-outliers)
}

// critical returns the smallest statistic of n differences that is not significant, at a level of confidence.
func (d ranksNull) critical(n int, level float64) int {
	return sort.Search(walshCount(n)/2+1, func(t int) bool { return d.twoSided(float64(t)) >= 1-level })
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

// exactPairs is the largest number of pairs for which the signed-rank distribution is enumerated;
// beyond it the normal approximation is accurate to 0.002, and to 0.0005 where p is 0.05 or less.
const exactPairs = 100

// ranksNull is the distribution of Wilcoxon's signed-rank statistic T, the sum
// of the ranks of the positive differences, when each sign is a fair coin.
type ranksNull struct {
	atMost   []float64 // P(T ≤ i/2); nil if it was not enumerated
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

// plainNull is the distribution for n ranks without ties. Every figure and comparison
// of a run needs the distribution for its number of rounds, so each is enumerated once.
func plainNull(n int) ranksNull {
	plainNulls.Lock()
	defer plainNulls.Unlock()
	d, known := plainNulls.of[n]
	if !known {
		d = newRanksNull(plainRanks(n))
		if n <= exactPairs { // larger ones hold nothing worth keeping
			plainNulls.of[n] = d
		}
	}
	return d
}

var plainNulls = struct {
	sync.Mutex
	of map[int]ranksNull
}{of: map[int]ranksNull{}}

// twoSided is the probability of a statistic at least as extreme as t, t
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

// plainRanks returns the ranks of n differences without ties.
func plainRanks(n int) []float64 {
	r := make([]float64, n)
	for i := range r {
		r[i] = float64(i + 1)
	}
	return r
}

// midRanks returns the ranks of the absolute differences other than 0, where ties share
// the mean of their ranks, and T of the positive and of the negative differences.
func midRanks(differences []float64) (ranks []float64, positive, negative float64) {
	d := record.Those(differences, func(v float64) bool { return v != 0 })
	ranks = midRanksOf(record.Each(d, math.Abs))
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

// signedRankP is the two-sided p-value of Wilcoxon's signed-rank test of differences around 0. If both
// of a pair come from one distribution, however skewed, their differences are symmetric around 0, which
// is all that the test requires: it raises no more false alarms than promised. Differences of 0 are
// left out, as Wilcoxon did, and ties have mid-ranks with the corresponding exact distribution. If
// there are zeros or ties, the p-value of the test that counts them against a difference is taken if it
// is larger, so that the test never claims more than the interval of pseudomedianInterval, which is the
// inversion of the latter test. plain is the distribution for the same number of ranks without ties.
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
