package analysis

import (
	"fmt"

	"gonum.org/v1/gonum/mathext"

	"nettoll/record"
)

// BlockRounds is the number of rounds in one comparison of a self-check if the caller gives none.
const BlockRounds = 8

// FalseAlarms reports how often a run that measured one network as if it were two found a difference between them.
type FalseAlarms struct {
	Block       int          `json:"block_rounds"` // rounds per comparison
	Comparisons int          `json:"comparisons"`  // of the second twin with the first, in the metric that their cell is ranked by: one per cell and block
	Alarms      int          `json:"alarms"`       // comparisons in which the test calls the twins different, by however little
	Level       float64      `json:"promised"`     // 1 − confidence of the run: the highest rate promised
	Observed    float64      `json:"rate"`         // Alarms ÷ Comparisons; 0 without comparisons
	Low         float64      `json:"low"`          // and High: exact interval of the rate
	High        float64      `json:"high"`
	P           float64      `json:"p"` // of at least this number of alarms in the worst metric if its rate were Level, corrected for the number of metrics
	Worst       MetricAlarms `json:"-"`
	// Outcome is Different if there are more alarms than promised (P < Level), Same
	// if there are certainly not many more (High at most twice Level), NotKnown if
	// there are too few comparisons to decide, and Untested if there are none.
	Outcome  Outcome        `json:"outcome"`
	Metrics  []MetricAlarms `json:"-"`
	Warnings []Warning      `json:"-"`
	More     string         `json:"-"` // how to get more rounds, if there are too few
}

// MetricAlarms is the share of one metric in FalseAlarms. Metrics are in the order of record.Kinds.
type MetricAlarms struct {
	Kind                record.Kind
	Comparisons, Alarms int
	P                   float64 // of at least this number of alarms if the rate were Level
}

// SelfCheck compares the twins of a self-check with each other. A series of rounds would give only one comparison
// of a metric, so the pairs are cut into consecutive blocks of block rounds (0 means BlockRounds, or as many as
// the level needs), each compared by itself exactly as Analyze does; an incomplete last block is left out.
//
// Blocks share no trial and are independent, metrics of a trial are not: CPU per GB of a busy CPU
// only repeats its throughput, and a single odd round can raise an alarm in several at once. So
// the rate and its interval are of one metric of each cell, and each metric also has its own
// binomial test, one-sided since fewer alarms than promised are not a fault. The smallest p-value
// is multiplied by the number of metrics (Bonferroni), which is valid whatever the dependence.
func SelfCheck(f *record.File, block int) FalseAlarms {
	judging := judgingOf(f.Limits())
	conf := judging.level
	if block <= 0 {
		block = max(BlockRounds, record.LeastRounds(1, conf))
	}
	out := FalseAlarms{Block: block, Level: 1 - conf, High: 1, P: 1}
	all := collect(f.Run.Cells, f.Trials)
	second := record.Those(all, func(c series) bool { return c.cell.Twin == 2 })
	rounds := 0
	for _, k := range record.Kinds() {
		m := MetricAlarms{Kind: k}
		for _, c := range second {
			pairs := pairUp(c.points(k), c.base.points(k))
			rounds = max(rounds, len(pairs))
			compared, alarms := 0, 0
			for ; len(pairs) >= block; pairs = pairs[block:] {
				if c := compare(pairs[:block], k.Better, judging); c != nil {
					compared++
					if c.alarms(conf) {
						alarms++
					}
				}
			}
			m.Comparisons, m.Alarms = m.Comparisons+compared, m.Alarms+alarms
			if c.primary().Name == k.Name {
				out.Comparisons, out.Alarms = out.Comparisons+compared, out.Alarms+alarms
			}
		}
		if m.Comparisons == 0 {
			continue
		}
		m.P = binomialAtLeast(m.Alarms, m.Comparisons, out.Level)
		out.Metrics = append(out.Metrics, m)
	}
	need := block
	if each := len(second); each > 0 { // a block has a comparison of each
		need = (leastCompared(out, conf, MostRounds/block*each) + each - 1) / each * block
	}
	by := boundOf(f)
	by.last, by.round = rounds, f.Spent/float64(max(1, rounds))
	out.More = by.more(need)
	out.judge(conf, rounds)
	return out
}

// leastCompared is how many comparisons, of at most so many, it takes to tell that there are certainly not many more alarms than
// promised, if none is added.
func leastCompared(a FalseAlarms, conf float64, most int) int {
	n := max(1, a.Comparisons)
	for ; n < most; n++ {
		if _, high := BinomialInterval(a.Alarms, n, conf); high <= 2*a.Level {
			break
		}
	}
	return n
}

func (a *FalseAlarms) judge(conf float64, rounds int) {
	least := record.LeastRounds(1, conf)
	if a.Block < least {
		a.Warnings = append(a.Warnings, warnTooFewRounds(a.Block, least, conf, "compare longer blocks of rounds"))
	}
	if a.Comparisons == 0 {
		a.Warnings = append(a.Warnings, Warning{WarnTooFewRounds,
			fmt.Sprintf("nothing could be compared: %d rounds have both twins, one comparison needs %d", rounds, a.Block), a.More})
		return
	}
	a.Observed = float64(a.Alarms) / float64(a.Comparisons)
	a.Low, a.High = BinomialInterval(a.Alarms, a.Comparisons, conf)
	for _, m := range a.Metrics {
		if p := m.P * float64(len(a.Metrics)); p < a.P {
			a.P, a.Worst = p, m
		}
	}
	switch {
	case a.Block < least:
	case a.P < a.Level:
		a.Outcome = Different
	case a.High <= 2*a.Level:
		a.Outcome = Same
	default:
		a.Outcome = NotKnown
	}
}

// Attained is the probability that the signed-rank test of n pairs without
// a difference rejects: the largest attainable p-value below 1−level.
func Attained(n int, level float64) float64 {
	null := plainNull(n)
	return null.twoSided(float64(null.critical(n, level) - 1))
}

// binomialAtLeast is the probability of k or more successes in n trials of
// probability p, 0 < p < 1, by the incomplete beta function.
func binomialAtLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// BinomialInterval is the exact interval of the probability of an event that occurred in k of n trials.
// Clopper and Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial,
// Biometrika 26 (1934).
func BinomialInterval(k, n int, level float64) (low, high float64) {
	tail := (1 - level) / 2
	low, high = 0, 1
	if k > 0 {
		low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), tail)
	}
	if k < n {
		high = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-tail)
	}
	return low, high
}
