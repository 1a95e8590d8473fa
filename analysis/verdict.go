package analysis

import (
	"cmp"
	"slices"

	"nettoll/record"
)

// Multiplicity says how many comparisons a run makes, and what follows from that.
type Multiplicity struct {
	// Comparisons with an interval, of the metrics that answer for their workloads.
	Comparisons int
	// Expected is how many of these would be marked as different by chance, at the most,
	// if no network differed from its baseline.
	Expected float64

	Primary int // comparisons that verdicts are given on, with an interval or without
	Least   int // rounds without which none of them could be called different

	Different, Same, NotKnown, Untested int // their verdicts
}

// giveVerdicts corrects the primary comparisons of a run for their number and counts what
// they say. An Outcome is about one interval. Among many of them some are Different by
// chance, and a summary that names those would be wrong more often than the level says; so
// a verdict of Different needs an adjusted p-value below 1−level, after Holm, A simple
// sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979): with that, the
// probability of one wrong verdict or more in a run is at most 1−level, however the
// comparisons depend on each other.
//
// CPU cost is not one of these, since that of a stream that keeps a CPU busy is its throughput once
// more. Where it says something of its own, sentences name it if its p-value times the number
// of primary comparisons is below 1−level (Bonferroni).
func giveVerdicts(res *Result) {
	conf := level(res.Limits)
	var primary, costs []*Comparison
	m := Multiplicity{}
	for _, s := range res.Scenarios {
		answers := s.Answers()
		for i := range s.Rows {
			row := &s.Rows[i]
			main := row.compared()
			if main != nil {
				main.Primary, main.Judged = true, true
				primary = append(primary, main)
			}
			for _, f := range row.Figures {
				c, _ := f.Comparison()
				if c != nil && c.Level > 0 && (c == main || slices.Contains(answers, f.Kind)) {
					m.Comparisons++
					m.Expected += attained(c.N, conf)
				}
			}
			for _, name := range []string{record.CPUPerGB, record.CPUPerTransaction} {
				if f, ok := row.Figure(name); ok && f.Ratio != nil && !f.Ratio.Primary {
					f.Ratio.Judged = true
					costs = append(costs, f.Ratio)
				}
			}
		}
	}
	m.Primary, m.Least = len(primary), record.LeastRounds(len(primary), conf)
	adjust(primary)
	for _, c := range costs {
		if c.Level > 0 {
			c.Adjusted = min(1, c.P*float64(max(1, len(primary))))
		}
	}
	for _, c := range append(costs, primary...) {
		c.Verdict = c.Outcome
		if c.Outcome == Different && c.Adjusted >= 1-conf {
			c.Verdict = NotKnown
		}
	}
	for _, c := range primary {
		switch c.Verdict {
		case Different:
			m.Different++
		case Same:
			m.Same++
		case NotKnown:
			m.NotKnown++
		default:
			m.Untested++
		}
	}
	res.Multiplicity = m
}

// compared is the primary comparison of a row, nil where it has none.
func (r *Row) compared() *Comparison {
	primary, ok := r.Primary()
	if !ok || r.Native {
		return nil
	}
	for i := range r.Figures {
		if r.Figures[i].Kind.Name == primary.Kind.Name {
			c, _ := r.Figures[i].Comparison()
			return c
		}
	}
	return nil
}

// mostRounds is how many rounds the primary comparison with the most of them has.
func (res *Result) mostRounds() (n int) {
	for _, s := range res.Scenarios {
		for i := range s.Rows {
			if c := s.Rows[i].compared(); c != nil {
				n = max(n, c.N)
			}
		}
	}
	return n
}

// adjust gives comparisons with an interval Holm's adjusted p-values: of m of them, in
// ascending order of p, the i-th is (m−i+1)·p, at most 1, and at least that of the one before.
func adjust(all []*Comparison) {
	tested := slices.DeleteFunc(slices.Clone(all), func(c *Comparison) bool { return c.Level == 0 })
	slices.SortStableFunc(tested, func(a, b *Comparison) int { return cmp.Compare(a.P, b.P) })
	before := 0.0
	for i, c := range tested {
		before = max(before, min(1, float64(len(tested)-i)*c.P))
		c.Adjusted = before
	}
}

// Answers are the metrics that answer for the workload of a scenario, of those that any
// of its rows has, the one that networks are ranked by first. Where latency is what is
// asked for and known, the transaction rate says nothing new, nor the mean beside the median.
func (s Scenario) Answers() []record.Kind {
	has := func(metric string) bool {
		return slices.ContainsFunc(s.Rows, func(r Row) bool { _, ok := r.Figure(metric); return ok })
	}
	primary := record.Primary(s.Cell.Workload)
	var out []record.Kind
	for _, name := range primary {
		second := name == record.TransactionRate && primary[0] != name || name == record.LatencyMean
		if k, known := record.KindOf(name); known && has(name) && !(second && has(record.LatencyP50)) {
			out = append(out, k)
		}
	}
	return out
}
