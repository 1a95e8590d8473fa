package analysis

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"nettoll/record"
)

// exactTrend is the largest number of points without ties for which the distribution of Kendall's S is enumerated.
const exactTrend = 30

// trendP is the two-sided p-value of the Mann–Kendall test that values in the order of points have no
// trend. S counts rises minus falls over all pairs. Mann, Nonparametric tests against trend, Econometrica
// 13 (1945); Kendall, Rank Correlation Methods, for the variance with ties. The p-value is exact for up to
// exactTrend points without ties, and otherwise from the normal approximation with continuity correction.
func trendP(points []Point) float64 {
	n := len(points)
	s, tied := 0, false
	for i, a := range points {
		for _, b := range points[i+1:] {
			switch {
			case b.Value > a.Value:
				s++
			case b.Value < a.Value:
				s--
			default:
				tied = true
			}
		}
	}
	if s == 0 {
		return 1
	}
	s = max(s, -s)
	if !tied && n <= exactTrend {
		return min(1, 2*inversionsAtMost(n, (n*(n-1)/2-s)/2))
	}
	return min(1, 2*distuv.UnitNormal.Survival(float64(s-1)/math.Sqrt(trendVariance(points))))
}

// inversionsAtMost is the probability that a random permutation of n has at most most inversions.
// Inserting the i-th element adds 0 … i−1 of them with equal probability (the Mahonian numbers).
func inversionsAtMost(n, most int) float64 {
	p := make([]float64, n*(n-1)/2+1)
	p[0] = 1
	for i := 2; i <= n; i++ {
		next := make([]float64, len(p))
		for t := range p {
			for add := 0; add < i && add <= t; add++ {
				next[t] += p[t-add] / float64(i)
			}
		}
		p = next
	}
	sum := 0.0
	for _, v := range p[:most+1] {
		sum += v
	}
	return sum
}

// trendVariance is the variance of S: [n(n−1)(2n+5) − Σ t(t−1)(2t+5)]/18 over
// groups of t equal values.
func trendVariance(points []Point) float64 {
	term := func(t int) float64 { return float64(t) * float64(t-1) * float64(2*t+5) }
	variance := term(len(points))
	for _, equal := range record.Gather(points, func(p Point) float64 { return p.Value }) {
		variance -= term(len(equal))
	}
	return variance / 18
}

// mostSloped is how many points a line is fitted to: the number of their slopes grows with the square of it.
const mostSloped = 1000

// thinned returns at most the given number of points, evenly spaced, with the first and the last.
func thinned(points []Point, most int) []Point {
	if len(points) <= most {
		return points
	}
	out := make([]Point, most)
	for i := range out {
		out[i] = points[i*(len(points)-1)/(most-1)]
	}
	return out
}

// trendChange is the change from the first round to the last, as a share of the first, along the
// Theil–Sen line through the logarithms, whose slope is the median of the slopes of all pairs of points:
// Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63 (1968). A line through
// logarithms is above 0 everywhere, so no value falls by more than 100 %. It is 0 if a value is 0.
func trendChange(points []Point) float64 {
	var slopes []float64
	points = thinned(points, mostSloped)
	for i, a := range points {
		for _, b := range points[i+1:] {
			if a.Value <= 0 || b.Value <= 0 {
				return 0
			}
			slopes = append(slopes, (math.Log(b.Value)-math.Log(a.Value))/float64(b.Round-a.Round))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	change := math.Expm1(medianOf(slopes) * float64(points[len(points)-1].Round-points[0].Round))
	if math.IsNaN(change) || math.IsInf(change, 0) {
		return 0
	}
	return change
}

// autocorrelationLevel is the p of the test below which a series is doubted.
const autocorrelationLevel = 0.01

// exactRanks is the largest number of values for which the distribution of the rank
// version of von Neumann's ratio is enumerated.
const exactRanks = 10

// autocorrelationP is the p-value of the test that neighbours in a series are no more alike than values in
// random order: the probability that Σ(Rᵢ−Rᵢ₊₁)², the R being ranks, is at most the value found. It is
// one-sided, as only neighbours that are alike make intervals too narrow. Von Neumann's ratio is this sum over
// Σ(Rᵢ−R̄)²; for ranks see Bartels, The Rank Version of von Neumann's Ratio Test for Randomness, JASA 77
// (1982). A quarter of the ratio has the beta distribution that Bartels gives, with mid-ranks for ties. If that
// p-value is small enough to matter, all orders of up to exactRanks values without ties are enumerated instead.
func autocorrelationP(values []float64) float64 {
	n := len(values)
	if n < 3 {
		return 1
	}
	ranks := midRanksOf(values)
	mean := float64(n+1) / 2
	var sum, spread float64
	for i, r := range ranks {
		if i > 0 {
			sum += (r - ranks[i-1]) * (r - ranks[i-1])
		}
		spread += (r - mean) * (r - mean)
	}
	if spread == 0 {
		return 1
	}
	m := float64(n)
	shape := 5*m*(m+1)*(m-1)*(m-1)/(2*(m-2)*(5*m*m-2*m-9)) - 0.5
	p := distuv.Beta{Alpha: shape, Beta: shape}.CDF(min(1, sum/spread/4))
	if p < 5*autocorrelationLevel && n <= exactRanks && slices.Equal(slices.Sorted(slices.Values(ranks)), plainRanks(n)) {
		return ordersAtMost(n, int(sum))
	}
	return p
}

// midRanksOf returns the ranks of values; ties share the mean of theirs.
func midRanksOf(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	ranks := make([]float64, len(values))
	for i, v := range values {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last+1 < len(sorted) && sorted[last+1] == v {
			last++
		}
		ranks[i] = float64(first+last)/2 + 1
	}
	return ranks
}

// ordersAtMost is the share of the orders of the ranks 1 … n in which the sum of the squared
// differences of neighbours is at most most. Orders are built up rank by rank, and those that
// have used the same ranks and end with the same one are counted together, by their sums so far.
func ordersAtMost(n, most int) float64 {
	counts := make([][]float64, n<<n) // by the set of ranks used, and the last of them
	for r := range n {
		counts[n<<r+r] = make([]float64, most+1)
		counts[n<<r+r][0] = 1
	}
	all := 1<<n - 1
	for used := 1; used < all; used++ {
		for last := range n {
			sums := counts[used*n+last]
			if sums == nil {
				continue
			}
			for r := range n {
				step := (r - last) * (r - last)
				if used&(1<<r) != 0 || step > most {
					continue
				}
				to := &counts[(used|1<<r)*n+r]
				if *to == nil {
					*to = make([]float64, most+1)
				}
				for s, c := range sums[:most+1-step] {
					(*to)[s+step] += c
				}
			}
			counts[used*n+last] = nil
		}
	}
	found, orders := 0.0, 1.0
	for last := range n {
		for _, c := range counts[all*n+last] {
			found += c
		}
		orders *= float64(last + 1)
	}
	return found / orders
}

// alike returns doubts about rounds whose neighbours are more alike than in random order. Every
// interval and test assumes independent rounds: with a lag-1 correlation of 0.4, an interval of 95 %
// contains the truth in 81 to 89 % of runs, and with 0.7 in 60 to 72 %. The test is of the ratios to
// native, and for native itself of its values. A trend that was found already is not reported again.
func alike(row Row, k record.Kind, points, base []Point, trend bool, in circumstances) []Warning {
	var series []float64
	of := k.Title
	if row.Native {
		if trend {
			return nil
		}
		series = values(points)
	} else {
		of = "the ratio of " + k.Title + " to " + BaselineName(row.Cell)
		series = record.Each(pairUp(points, base), func(p pair) float64 { return math.Log(p.cell) - math.Log(p.native) })
	}
	if slices.ContainsFunc(series, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		return nil
	}
	p := autocorrelationP(series)
	if p >= autocorrelationLevel {
		return nil
	}
	return []Warning{{WarnAlike,
		fmt.Sprintf("%s changed slowly from round to round (%d rounds, p=%.2g): rounds are not independent, and the interval is too narrow", of, len(series), p),
		"find what changes: other work on the machine, or throttling; or let it average out: " + in.longRun()}}
}

// Limits of the change of a window from its first half to its second.
const (
	courseLevel = 0.02 // p of the test; seven rounds can reach it
	courseLimit = 0.10 // of the mean
)

// unstationary returns doubts about windows whose second half has more traffic
// than the first, or less: then a start was measured, or the end of a burst.
//
// Within a window neighbouring parts are alike, since disturbances of a machine last for tenths of
// a second, as long as many a window; no test of one window could distinguish a trend from that.
// Windows of different rounds are independent. The second half of each is compared with the first,
// as (B-A)/(B+A). If the window is stationary this is as often above 0 as below, however noisy and
// however bursty the traffic is, and Wilcoxon's signed-rank test of the rounds keeps its level. A round in which a
// baseline has several windows counts once.
func unstationary(k record.Kind, trials []*record.Trial) []Warning {
	var changes []float64
	for _, parts := range record.Gather(trials, func(t *record.Trial) int { return t.Round }) {
		here := record.Found(parts, func(t *record.Trial) (float64, bool) { return change(courseOf(k, t)) })
		if len(here) > 0 {
			changes = append(changes, medianOf(here))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	p := signedRankP(changes, newRanksNull(plainRanks(len(changes))))
	share := pseudomedian(changes)
	if p >= courseLevel || math.Abs(2*share) <= courseLimit {
		return nil
	}
	said := "the first half of the window had nothing"
	switch growth := 2 * share / (1 - share); { // B/A-1
	case share < 0:
		said = "the second half of the window had " + Percent(-growth) + " less than the first"
	case share < 1:
		said = "the second half of the window had " + Percent(growth) + " more than the first"
	}
	advice := "allow a longer warm-up (--warmup), or measure a longer window (-t), in which the beginning counts for less"
	if tookTurns(trials) {
		advice = "measure whole trials (--turns=false), and allow a longer warm-up (--warmup), or measure a longer window (-t)"
	}
	return []Warning{{WarnUnstationary,
		fmt.Sprintf("%s (%d rounds, p=%.2g): %s had not reached a steady state", said, len(changes), p, k.Title), advice}}
}

// courseOf returns the traffic in each part of a trial's window, in the quantity that the metric is about.
func courseOf(k record.Kind, t *record.Trial) []float64 {
	switch {
	case t.Course == nil:
		return nil
	case k.Unit == "bit/s", k.Name == record.PacketRate:
		return record.Each(t.Course.Bytes, func(n uint64) float64 { return float64(n) })
	}
	return t.Course.Transactions
}

// change is the difference of the second half of a window and the first, over their sum.
func change(parts []float64) (share float64, ok bool) {
	var first, second float64
	for i, n := range parts {
		switch {
		case 2*i+1 < len(parts):
			first += n
		case 2*i+1 > len(parts):
			second += n
		}
	}
	share = (second - first) / (second + first)
	return share, !math.IsNaN(share) && !math.IsInf(share, 0)
}
