package analysis

import (
	"encoding/json"
	"math"

	"nettoll/record"
)

// Outcome is what an interval shows about a difference.
type Outcome int

const (
	Untested  Outcome = iota // too few rounds for an interval at the level
	NotKnown                 // the interval contains "no difference", and reaches beyond the margin
	Same                     // the whole interval lies within the margin, whether or not it contains "no difference"
	Different                // the interval excludes "no difference", and reaches beyond the margin
)

func (o Outcome) String() string {
	return [...]string{Untested: "untested", NotKnown: "not-known", Same: "same", Different: "different"}[o]
}

// MarshalText writes an outcome as machine-readable reports name it.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Effect reports whether a difference is for the better or for the worse, by the direction of its metric.
type Effect string

// There is an effect only if the outcome is Different.
const (
	Better Effect = "better"
	Worse  Effect = "worse"
)

// Comparison compares a cell with another, paired by round, and by part where a round was cut into several (see
// pairOverParts): either as a ratio, where 1 means no difference, or as a difference in the unit of the metric, where
// 0 means none.
type Comparison struct {
	N        int     // pairs
	Minus    bool    // it is a difference, not a ratio
	of       float64 // the value of the baseline, if it is a difference
	Value    float64 // cell ÷ baseline, or cell − baseline: the pseudo-median of the pairs
	Interval         // of Value; the extremes of the pairs if N is too small for the level
	P        float64 // of the test for no difference; meaningless if Level is 0
	Outcome  Outcome // by this interval alone
	Effect   Effect  // set if Outcome is Different

	// Primary marks the comparison in the metric that the cell is ranked by, one per cell.
	Primary  bool
	Judged   bool    // there is a verdict: it belongs to one of the families of giveVerdicts. All others are descriptive
	Adjusted float64 // P corrected for the number of comparisons in its family
	Verdict  Outcome // Outcome, but Different only if Adjusted confirms it
}

// Factor returns the value as a ratio to the baseline, by which comparisons of either kind can be sorted. If the baseline is 0, a
// difference is its own measure.
func (c Comparison) Factor() float64 {
	switch {
	case !c.Minus:
		return c.Value
	case c.of > 0:
		return 1 + c.Value/c.of
	}
	return 1 + c.Value
}

// MarshalJSON leaves out what is not known: an untested comparison has no interval and no p-value.
func (c Comparison) MarshalJSON() ([]byte, error) {
	where := func(known bool, v float64) *float64 {
		if !known {
			return nil
		}
		return &v
	}
	verdict := ""
	if c.Judged {
		verdict = c.Verdict.String()
	}
	return json.Marshal(struct {
		N          int      `json:"n"`
		Ratio      *float64 `json:"ratio,omitempty"`
		Difference *float64 `json:"difference,omitempty"`
		Interval   `json:"interval,omitzero"`
		P          *float64 `json:"p,omitempty"`
		Outcome    Outcome  `json:"outcome"`
		Effect     Effect   `json:"effect,omitempty"`
		Primary    bool     `json:"primary,omitempty"`
		Adjusted   *float64 `json:"adjusted_p,omitempty"`
		Verdict    string   `json:"verdict,omitempty"`
	}{c.N, where(!c.Minus, c.Value), where(c.Minus, c.Value), c.Interval, where(c.Level > 0, c.P), c.Outcome, c.Effect, c.Primary,
		where(c.Level > 0 && c.Judged, c.Adjusted), verdict})
}

// Doubtful reports whether the size of a difference is too uncertain to give as one number: half of the
// interval is more than half of the difference. Reports then give only its direction, its least and its
// greatest size. none is the value that means no difference.
func (c Comparison) Doubtful(none float64) bool {
	return math.Max(c.High-c.Value, c.Value-c.Low) > math.Abs(c.Value-none)/2
}

// HalfWidth returns the greater half of the interval of a ratio over the ratio, or of a difference over the value of the baseline. There
// is none without an interval, or if the baseline is 0.
func (c *Comparison) HalfWidth() (h float64, known bool) {
	switch {
	case c == nil || c.Level == 0:
		return 0, false
	case c.Minus:
		return max(c.High-c.Value, c.Value-c.Low) / c.of, c.of > 0
	}
	return halfWidth(c.Low, c.Value, c.High)
}

// pair is one round in which a cell and its baseline were both measured.
type pair struct {
	round        int
	cell, native float64
}

// pairUp joins points of the same round; rounds that only one side has are left out. Both sides are in the order of
// rounds, with one point for each. The points of a baseline are those of the cell's own parts (series.beside).
func pairUp(cell, native []Point) []pair {
	var out []pair
	for i, j := 0, 0; i < len(cell) && j < len(native); {
		switch a, b := cell[i], native[j]; {
		case a.Round < b.Round:
			i++
		case a.Round > b.Round:
			j++
		default:
			out = append(out, pair{a.Round, a.Value, b.Value})
			i, j = i+1, j+1
		}
	}
	return out
}

// pairFigures pairs a metric of two cells. If one is the baseline of the other, it has several values in a round
// that was cut into parts, and only one was measured beside the other cell.
func pairFigures(a, b *Figure) []pair {
	switch {
	case a.Kind.Name != b.Kind.Name || a.cell == b.cell:
	case a.cell.Against() == b.cell:
		return pairUp(a.Points, a.base)
	case b.cell.Against() == a.cell:
		return pairUp(b.base, b.Points)
	case a.cell.Against() == b.cell.Against():
		return pairOverParts(a, b)
	}
	return pairUp(a.Points, b.Points)
}

// pairOverParts pairs a metric of two cells that have the same baseline. In rounds in which they stood in different
// parts, which are seconds apart, each counts by its ratio to the baseline of its own part, in all of its slices: the value of
// the second is converted to the speed of the machine in the part of the first. Rounds in which one of them has no baseline are
// left out.
func pairOverParts(a, b *Figure) (out []pair) {
	byRound := func(points []Point) map[int]float64 {
		all := map[int]float64{}
		for _, p := range points {
			all[p.Round] = p.Value
		}
		return all
	}
	baseA, baseB := byRound(a.whole), byRound(b.whole)
	for _, p := range pairUp(a.Points, b.Points) {
		x, hasA := baseA[p.round]
		y, hasB := baseB[p.round]
		if x != y && x > 0 && y > 0 { // otherwise they stood in one part
			p.native *= x / y
		}
		if hasA == hasB {
			out = append(out, p)
		}
	}
	return out
}

// judging holds the parameters by which comparisons of a run are judged.
type judging struct {
	level  float64 // of intervals and tests
	margin float64 // differences up to this share of the baseline count as none
}

func judgingOf(s record.Settings) judging { return judging{level(s), equalWithin(s)} }

// Paired compares a cell with its baseline for paired values from several runs. level is that of the interval
// and the test, margin a share of 1. The result is nil if there is no pair, or a value is 0.
func Paired(of, with []float64, level, margin float64) *Comparison {
	pairs := make([]pair, min(len(of), len(with)))
	for i := range pairs {
		pairs[i] = pair{i + 1, of[i], with[i]}
	}
	return compare(pairs, record.HigherIsBetter, judging{level, margin})
}

// compare returns the ratio of a cell to its baseline. The differences dᵢ = ln(cellᵢ/baselineᵢ) of the rounds
// are free of whatever slowed both in a round; the ratio is the exponential of their pseudo-median, its
// interval that of pseudomedianInterval, the test Wilcoxon's. With logarithms "twice" and "half" are equally
// far from 1, and the result is the same whichever of the two is called the baseline.
//
// The result is nil if there is no pair, or if a value is 0, so that no ratio exists; leaving out the pairs
// with zeros would favour the others.
func compare(pairs []pair, better record.Direction, j judging) *Comparison {
	d := make([]float64, len(pairs))
	for i, p := range pairs {
		if p.cell <= 0 || p.native <= 0 {
			return nil
		}
		d[i] = math.Log(p.cell) - math.Log(p.native)
	}
	c := center(d, j.level)
	if c == nil {
		return nil
	}
	c.Value, c.Low, c.High = math.Exp(c.Value), math.Exp(c.Low), math.Exp(c.High)
	if c.Low == 0 || math.IsInf(c.High, 0) {
		return nil
	}
	c.judge(1, 1-j.margin, 1+j.margin, better, j.level)
	return c
}

// subtract returns the difference of a cell from its baseline, for metrics whose ratio says little: a loss of 0
// against 0 has no ratio, and 0.002 % against 0.001 % is not "twice as bad" in practice. It works like compare, on
// cellᵢ − baselineᵢ instead of the logarithms. The margin is a share of the baseline's value, and 0 if that is 0.
//
// The result is nil if there is no pair, or if a difference is beyond the range of numbers.
func subtract(pairs []pair, better record.Direction, j judging) *Comparison {
	d, base := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		d[i], base[i] = p.cell-p.native, p.native
		if math.Abs(d[i]) > math.MaxFloat64/2 {
			return nil // Walsh averages of such differences would overflow
		}
	}
	c := center(d, j.level)
	if c == nil {
		return nil
	}
	c.Minus, c.of = true, math.Abs(summarize(base, j.level).Estimate)
	margin := j.margin * c.of
	c.judge(0, -margin, margin, better, j.level)
	return c
}

// center returns the pseudo-median of differences, its interval and the test that it is 0. The result is nil
// if there are no differences.
func center(d []float64, level float64) *Comparison {
	if len(d) == 0 {
		return nil
	}
	plain := plainNull(len(d))
	low, high, reached := pseudomedianInterval(d, plain, level)
	return &Comparison{N: len(d), Value: pseudomedian(d), Interval: Interval{low, high, reached}, P: signedRankP(d, plain)}
}

// judge sets the outcome. none is the value of no difference; from and to are the margin around it. If the
// interval excludes none although the test, which accounts for ties, does not reject it, the interval is widened
// to none, so that it never claims more than the test. With too few pairs for the level nothing was tested.
func (c *Comparison) judge(none, from, to float64, better record.Direction, level float64) {
	if c.Level == 0 {
		return
	}
	if c.P >= 1-level {
		c.Low, c.High = min(c.Low, none), max(c.High, none)
	}
	switch {
	case from <= c.Low && c.High <= to:
		c.Outcome = Same
	case c.Low <= none && none <= c.High:
		c.Outcome = NotKnown
	default:
		c.Outcome, c.Effect = Different, Worse
		if (c.Low > none) == (better == record.HigherIsBetter) {
			c.Effect = Better
		}
	}
}

// alarms reports whether the test finds a difference, within the margin or not.
func (c *Comparison) alarms(level float64) bool { return c.Level > 0 && c.P < 1-level }
