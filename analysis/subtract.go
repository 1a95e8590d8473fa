package analysis

import (
	"math"

	"nettoll/record"
)

// subtract gives the difference of a cell from native, for metrics of which a
// ratio says little: a loss of 0 against 0 has none, and one of 0.002 % against
// 0.001 % is not "twice as bad" to anybody. Estimate, interval, test and verdict
// are those of compare, on cellᵢ − nativeᵢ instead of the logarithms: with too few
// pairs Level is 0 and nothing is distinguishable, and what is shown never says
// more than what was tested.
//
// The result is nil where there is no pair, or where a difference is beyond the
// range of numbers.
func subtract(pairs []pair, better record.Direction, level float64) *Difference {
	if len(pairs) == 0 {
		return nil
	}
	d := make([]float64, len(pairs))
	for i, p := range pairs {
		d[i] = p.cell - p.native
		if math.Abs(d[i]) > math.MaxFloat64/2 {
			return nil // Walsh averages of such would overflow
		}
	}
	plain := newRanksNull(plainRanks(len(d)))
	low, high, reached := pseudomedianInterval(d, plain, level)
	out := &Difference{N: len(d), Value: pseudomedian(d), Low: low, High: high, Level: reached, P: signedRankP(d, plain)}
	out.decide(better, level)
	return out
}

func (d *Difference) decide(better record.Direction, level float64) {
	switch {
	case d.Level == 0:
		return
	case d.P >= 1-level:
		d.Low, d.High = min(d.Low, 0), max(d.High, 0)
	case d.Low > 0:
		d.Verdict = verdict(better == record.HigherIsBetter)
	case d.High < 0:
		d.Verdict = verdict(better == record.LowerIsBetter)
	}
}
