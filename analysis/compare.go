package analysis

import (
	"math"

	"nettoll/record"
)

// pair is one round in which a cell and its native were both measured.
type pair struct {
	round        int
	cell, native float64
}

// pairUp joins points of the same round; rounds that only one of them has are
// left out. Both are in the order of rounds.
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

// compare gives the ratio of a cell to native. The differences
// dᵢ = ln(cellᵢ/nativeᵢ) of the rounds are free of whatever slowed both in a
// round; the ratio is the exponential of their pseudo-median, its interval that
// of pseudomedianInterval, the test Wilcoxon's. Taking logarithms makes "twice"
// and "half" equally far from 1, and a ratio of medians of pairs that says the
// same whichever of the two is called native.
//
// A verdict other than Indistinguishable needs P < 1−level, and then the interval
// does not contain 1. An interval that leaves out 1 although the test, knowing
// of ties, does not reject is widened to 1: what is shown never says more than
// what was tested. With too few pairs for the level, Level is 0, the interval is
// that of the pairs' extremes, and nothing is distinguishable.
//
// The result is nil where there is no pair, or where a value is 0, so that no
// ratio exists; leaving out the pairs with zeros would favour the others.
func compare(pairs []pair, better record.Direction, level float64) *Comparison {
	if len(pairs) == 0 {
		return nil
	}
	d := make([]float64, len(pairs))
	for i, p := range pairs {
		if p.cell <= 0 || p.native <= 0 {
			return nil
		}
		d[i] = math.Log(p.cell) - math.Log(p.native)
	}
	plain := newRanksNull(plainRanks(len(d)))
	low, high, reached := pseudomedianInterval(d, plain, level)
	c := &Comparison{
		N:     len(d),
		Ratio: math.Exp(pseudomedian(d)),
		Low:   math.Exp(low),
		High:  math.Exp(high),
		Level: reached,
		P:     signedRankP(d, plain),
	}
	if c.Low == 0 || math.IsInf(c.High, 0) {
		return nil
	}
	c.decide(better, level)
	return c
}

func (c *Comparison) decide(better record.Direction, level float64) {
	switch {
	case c.Level == 0:
		return
	case c.P >= 1-level:
		c.Low, c.High = min(c.Low, 1), max(c.High, 1)
	case c.Low > 1:
		c.Verdict = verdict(better == record.HigherIsBetter)
	case c.High < 1:
		c.Verdict = verdict(better == record.LowerIsBetter)
	}
}

func verdict(better bool) Verdict {
	if better {
		return Better
	}
	return Worse
}
