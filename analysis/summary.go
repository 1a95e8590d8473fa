package analysis

import (
	"math"
	"slices"
)

// Summary says where the values of repeated trials lie.
type Summary struct {
	N int `json:"n"`
	// Estimate is where they lie: the pseudo-median of their logarithms where all are above
	// 0, so that it belongs to ratios, which are such, too; else the median.
	Estimate float64                    `json:"estimate"`
	Interval `json:"interval,omitzero"` // of Estimate; from Min to Max where N is too small for the level
	Median   float64                    `json:"median"`
	Min      float64                    `json:"min"`
	Max      float64                    `json:"max"`
}

// Interval is the interval of an estimate.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"` // that it reaches; 0 where there are too few values for the level asked for
}

// IsZero reports whether there is no interval at the level asked for.
func (i Interval) IsZero() bool { return i.Level == 0 }

// summarize says where values lie, at the level. It needs at least one value, and
// every value finite.
//
// The interval of a pseudo-median is Tukey's, see pseudomedianInterval. It covers with
// at least the level where the logarithms of values are spread alike to both sides,
// and at 7 and 8 rounds is a third narrower than that of the median. Where a value is 0 or less,
// which happens to what is mostly 0, the interval is the median's: from the k-th smallest
// to the k-th largest value. The number of values below the true median is binomial with
// probability ½, whatever the distribution of the values, so that covers with probability
// 1 − 2·P(B(n, ½) ≤ k−1); k is the largest that keeps this at or above the level.
// See Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2. Summary.Level
// is the probability reached.
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
	logs := make([]float64, n)
	for i, v := range x {
		logs[i] = math.Log(v)
	}
	// Rounding must not carry anything out of the range of the values.
	within := func(log float64) float64 { return min(max(math.Exp(log), s.Min), s.Max) }
	s.Estimate = within(pseudomedian(logs))
	low, high, reached := pseudomedianInterval(logs, plainNull(n), level)
	if reached > 0 {
		s.Low, s.High, s.Level = within(low), within(high), reached
	}
	return s
}

// halfWidth is the greater half of the interval over the estimate. There is none where
// the estimate is 0.
func halfWidth(low, estimate, high float64) (h float64, ok bool) {
	h = max(high/estimate-1, 1-low/estimate)
	if math.IsNaN(h) || math.IsInf(h, 0) {
		return 0, false
	}
	return h, true
}

// medianRank is k of the interval of the median, and the level that it
// reaches; 0 when even the extremes do not give the level.
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

// median of sorted values, the mean of the middle two where their number is
// even; written so that the largest numbers do not overflow.
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

// variation is the coefficient of variation: standard deviation (n−1) over
// mean; 0 where the mean is 0 or there are fewer than two values.
func variation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	top := slices.Max(values)
	if top == 0 {
		return 0
	}
	var mean, squares float64
	for _, v := range values {
		mean += v / top / float64(len(values))
	}
	for _, v := range values {
		squares += (v/top - mean) * (v/top - mean)
	}
	return math.Sqrt(squares/float64(len(values)-1)) / mean
}

// outliers are the points whose modified z-score, 0.6745·(x − median)/MAD, is
// beyond ±3.5: Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993).
// Where more than half of the values are equal, so that the MAD is 0, the mean
// absolute deviation times 1.2533 stands in for MAD/0.6745: both estimate the
// standard deviation of normal values.
// A point within the share least of the median is not one, however closely the
// others agree. Medians of fewer than five values say too little for this.
func outliers(points []Point, least float64) []Point {
	if len(points) < 5 {
		return nil
	}
	middle := median(slices.Sorted(slices.Values(values(points))))
	if middle <= 0 {
		return nil
	}
	deviations := make([]float64, len(points))
	mean := 0.0
	for i, p := range points {
		deviations[i] = math.Abs(p.Value/middle - 1)
		mean += deviations[i] / float64(len(points))
	}
	scale := median(slices.Sorted(slices.Values(deviations))) / 0.6745
	if scale == 0 {
		scale = 1.2533 * mean
	}
	var out []Point
	for i, p := range points {
		if d := deviations[i]; d > 3.5*scale && d > least && !math.IsInf(d, 0) {
			out = append(out, p)
		}
	}
	return out
}
