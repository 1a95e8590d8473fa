package analysis

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

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
