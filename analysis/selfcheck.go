package analysis

import (
	"gonum.org/v1/gonum/mathext"

	"nettoll/record"
)

// BlockRounds is how many rounds make one comparison of a self-check where the
// caller does not say.
const BlockRounds = 8

// FalseAlarms says how often a run that measured one network as if it were two
// called them different.
type FalseAlarms struct {
	Block       int     // rounds of one comparison
	Comparisons int     // of the second twin with the first, in the metric that their cell is ranked by: one of each cell and block
	Alarms      int     // of them in which the test calls the twins different, by however little
	Level       float64 // 1 − confidence of the run: the highest rate that is promised
	Expected    float64 // rate to be expected: what the exact test of so many rounds attains below Level
	Observed    float64 // Alarms ÷ Comparisons; 0 where there are none
	Low, High   float64 // exact interval of the rate
	P           float64 // of so many alarms or more in the worst metric if its rate were Level, corrected for their number
	Worst       MetricAlarms
	// Outcome is Different where the alarms are more than promised (P < Level), Same where they are
	// surely not much more (High at most twice Level), NotKnown where there are too few
	// comparisons to say either, and Untested where there are none.
	Outcome  Outcome
	Metrics  []MetricAlarms
	Warnings []Warning
	More     string // what gives the run more rounds, where there are too few
}

// MetricAlarms is the part of one metric, in the order of record.Kinds.
type MetricAlarms struct {
	Kind                record.Kind
	Comparisons, Alarms int
	Low, High           float64 // exact interval of the rate of alarms
	P                   float64 // of so many alarms or more if the rate were Level
}

// SelfCheck compares the twins of a self-check with each other. A series of
// rounds would give one comparison of a metric only, so the pairs are cut into
// consecutive blocks of so many rounds (0 is BlockRounds, or as many as the level needs), each
// compared for itself exactly as Analyze does; an incomplete last block is left out.
//
// Blocks share no trial and are independent, metrics of a trial are not: CPU per GB of a busy CPU
// is its throughput once more, and a single odd round can raise an alarm in several at once. So the
// rate and its interval are of one metric of each cell, and each metric has its own binomial test
// beside that, one-sided since fewer alarms than promised are no fault. The smallest p-value is
// multiplied by the number of metrics (Bonferroni), which holds whatever the dependence.
func SelfCheck(f *record.File, block int) FalseAlarms {
	judging := judgingOf(f.Limits())
	conf := judging.level
	if block <= 0 {
		block = max(BlockRounds, record.LeastRounds(1, conf))
	}
	out := FalseAlarms{Block: block, Level: 1 - conf, Expected: Attained(block, conf), High: 1, P: 1}
	all := collect(f.Run.Cells, f.Trials)
	rounds := 0
	for _, k := range record.Kinds() {
		m := MetricAlarms{Kind: k}
		for _, of := range twins(all, k) {
			rounds = max(rounds, len(of.pairs))
			compared, alarms := 0, 0
			for pairs := of.pairs; len(pairs) >= block; pairs = pairs[block:] {
				if c := compare(pairs[:block], k.Better, judging); c != nil {
					compared++
					if c.alarms(conf) {
						alarms++
					}
				}
			}
			m.Comparisons, m.Alarms = m.Comparisons+compared, m.Alarms+alarms
			if of.primary {
				out.Comparisons, out.Alarms = out.Comparisons+compared, out.Alarms+alarms
			}
		}
		if m.Comparisons == 0 {
			continue
		}
		m.Low, m.High = BinomialInterval(m.Alarms, m.Comparisons, conf)
		m.P = binomialAtLeast(m.Alarms, m.Comparisons, out.Level)
		out.Metrics = append(out.Metrics, m)
	}
	why, _ := ending(f)
	out.More = bound{why.Reason, f.Limits().MaxRounds, f.Spent / float64(max(1, rounds))}.more(max(block, 2*rounds))
	out.judge(conf, rounds)
	return out
}

func (a *FalseAlarms) judge(conf float64, rounds int) {
	least := record.LeastRounds(1, conf)
	if a.Block < least {
		a.Warnings = append(a.Warnings, warnTooFewRounds(a.Block, least, conf, "compare longer blocks of rounds"))
	}
	if a.Comparisons == 0 {
		a.Warnings = append(a.Warnings, warnNoComparison(rounds, a.Block, a.More))
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

// twinRounds are the rounds of a second twin with the first, in one metric.
type twinRounds struct {
	pairs   []pair
	primary bool // it is the metric that the cell is ranked by
}

// twins are the rounds of every second twin with the first of its scenario.
func twins(all []series, k record.Kind) []twinRounds {
	byCell := map[record.Cell]series{}
	for _, c := range all {
		byCell[c.cell] = c
	}
	var out []twinRounds
	for _, c := range all {
		if c.cell.Twin == 2 {
			out = append(out, twinRounds{pairUp(c.points(k), byCell[c.cell.Against()].points(k)), c.primary().Name == k.Name})
		}
	}
	return out
}

// Attained is the probability that the signed-rank test of n pairs without a
// difference rejects: the largest attainable p-value below 1−level.
func Attained(n int, level float64) float64 {
	null := plainNull(n)
	p := 0.0
	for t := 0; null.twoSided(float64(t)) < 1-level; t++ {
		p = null.twoSided(float64(t))
	}
	return p
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

// BinomialInterval is the exact interval of a probability of which k of n trials
// came true. Clopper and Pearson, The use of confidence or fiducial limits
// illustrated in the case of the binomial, Biometrika 26 (1934).
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
