package analysis

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"nettoll/record"
)

// autocorrelationLevel is the p of the test below which a series is doubted.
const autocorrelationLevel = 0.01

// exactRanks is the largest number of values for which the distribution of the rank
// version of von Neumann's ratio is enumerated.
const exactRanks = 10

// autocorrelationP is the p-value of the test that neighbours in a series are no more alike
// than values in random order: of Σ(Rᵢ−Rᵢ₊₁)², the R being ranks, the probability to be so
// small or smaller. It is one-sided, as only neighbours that are alike make intervals too
// narrow. Von Neumann's ratio is this sum over Σ(Rᵢ−R̄)²; for ranks see Bartels, The Rank
// Version of von Neumann's Ratio Test for Randomness, JASA 77 (1982). A quarter
// of the ratio has the beta distribution that Bartels gives, with mid-ranks for ties. Where
// that is small enough to matter, of up to exactRanks values without ties, all orders are
// enumerated instead.
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

// midRanksOf are the ranks of values, ties sharing the mean of theirs.
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

// ordersAtMost is the share of the orders of the ranks 1 … n in which the sum of the
// squared differences of neighbours is at most so much. Orders are built up rank by rank,
// and those that have used the same ranks and end with the same one are counted together,
// by their sums so far.
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

// alike are doubts about rounds whose neighbours are more alike than in random order.
// Every interval and test assumes independent rounds: with a lag-1 correlation of 0.4, an
// interval of 95 % holds the truth in 81 to 89 % of runs, and with 0.7 in 60 to 72 %. The test
// is of the ratios to native, and for native itself of its values. A trend that was found
// already is not reported again.
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
		for _, p := range pairUp(points, base) {
			series = append(series, math.Log(p.cell)-math.Log(p.native))
		}
	}
	if slices.ContainsFunc(series, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		return nil
	}
	p := autocorrelationP(series)
	if p >= autocorrelationLevel {
		return nil
	}
	return []Warning{{WarnAlike,
		fmt.Sprintf("%s changes slowly from round to round (%d rounds, p=%.2g): rounds are not independent, and the interval is too narrow", of, len(series), p),
		"find what changes: other work on the machine, or throttling; or let it average out: " + in.more(2*len(series))}}
}
