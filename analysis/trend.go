package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactTrend is the largest number of points without ties whose distribution of
// Kendall's S is enumerated.
const exactTrend = 30

// trendP is the two-sided p-value of the Mann–Kendall test that values in the
// order of points have no trend. S counts rises minus falls over all pairs. Mann,
// Nonparametric tests against trend, Econometrica 13 (1945); Kendall, Rank
// Correlation Methods, for the variance with ties. Up to exactTrend
// points without ties are exact, others normal with the correction for
// continuity.
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
	if s < 0 {
		s = -s
	}
	if !tied && n <= exactTrend {
		return min(1, 2*inversionsAtMost(n, (n*(n-1)/2-s)/2))
	}
	return min(1, 2*distuv.UnitNormal.Survival(float64(s-1)/math.Sqrt(trendVariance(points))))
}

// inversionsAtMost is the probability that a random permutation of n has at most
// so many inversions. Inserting the i-th element adds 0 … i−1 of them with equal
// probability (the Mahonian numbers).
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
	sorted := slices.Sorted(slices.Values(values(points)))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		variance -= term(j - i)
		i = j
	}
	return variance / 18
}

// trendChange is the change from the first round to the last, as a share of the first,
// along the Theil–Sen line through the logarithms, whose slope is the median of the
// slopes of all pairs of points: Sen, Estimates of the regression coefficient based on Kendall's
// tau, JASA 63 (1968). A line through logarithms is above 0 everywhere, so nothing falls by more
// than all of it. It is 0 where a value is 0.
func trendChange(points []Point) float64 {
	var slopes []float64
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
	slices.Sort(slopes)
	change := math.Expm1(median(slopes) * float64(points[len(points)-1].Round-points[0].Round))
	if math.IsNaN(change) || math.IsInf(change, 0) {
		return 0
	}
	return change
}
