package analysis

import (
	"cmp"
	"slices"

	"nettoll/record"
)

// Multiplicity says how many comparisons a run makes, and what follows from that.
type Multiplicity struct {
	// Comparisons with an interval, of the metrics that answer for their workloads.
	Comparisons int `json:"made"`
	// Expected is how many of these would be marked as different by chance, at the most,
	// if no network differed from its baseline.
	Expected float64 `json:"expected_by_chance"`

	Primary int `json:"primary"`      // of each cell that of the metric it is ranked by, with an interval or without
	Least   int `json:"least_rounds"` // rounds without which none of them could be called different

	// Verdicts of the primary ones.
	Different int `json:"different"`
	Same      int `json:"same"`
	NotKnown  int `json:"not_known"`
	Untested  int `json:"untested"`

	Costs    int `json:"cpu_cost"`      // comparisons of CPU cost, with an interval
	Extremes int `json:"first_or_last"` // of the first and last networks with the next, with an interval
}

// giveVerdicts corrects the comparisons of a run that sentences rest on for their number, and counts
// what the primary ones say. An Outcome is about one interval. Among many of them some are Different
// by chance, and a summary that names those would be wrong more often than the level says; so a
// verdict of Different needs an adjusted p-value below 1−level, see judgeTogether.
//
// There are three families, each corrected for itself: the primary comparisons; those of CPU cost, which
// is not primary since that of a stream that keeps a CPU busy is its throughput once more; and those
// of the first and last networks with the next to them.
func giveVerdicts(res *Result) {
	conf := level(res.Limits)
	var primary, costs, ends []*Comparison
	m := Multiplicity{}
	for _, s := range res.Scenarios {
		answers := s.Answers()
		for i := range s.Rows {
			row := &s.Rows[i]
			main := row.compared()
			if main != nil {
				main.Primary = true
				primary = append(primary, main)
			}
			for _, f := range row.Figures {
				c := f.Comparison()
				if c != nil && c.Level > 0 && (c == main || slices.Contains(answers, f.Kind)) {
					m.Comparisons++
					m.Expected += Attained(c.N, conf)
				}
			}
			for _, name := range []string{record.CPUPerGB, record.CPUPerTransaction} {
				if f, ok := row.Figure(name); ok && f.Ratio != nil && !f.Ratio.Primary {
					costs = append(costs, f.Ratio)
				}
			}
		}
		for _, e := range s.Extremes {
			if e.Ratio != nil {
				ends = append(ends, e.Ratio)
			}
		}
	}
	m.Primary, m.Least = len(primary), record.LeastRounds(len(primary), conf)
	judgeTogether(primary, conf)
	m.Costs, m.Extremes = judgeTogether(costs, conf), judgeTogether(ends, conf)
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
			c := r.Figures[i].Comparison()
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

// judgeTogether gives verdicts on a family of comparisons, and says how many of them have an interval. It
// is that of Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979): the
// probability of one wrong verdict of Different or more in the family is at most 1−level, however
// its comparisons depend on each other.
func judgeTogether(all []*Comparison, level float64) (tested int) {
	tested = adjust(all)
	for _, c := range all {
		c.Judged, c.Verdict = true, c.Outcome
		if c.Outcome == Different && c.Adjusted >= 1-level {
			c.Verdict = NotKnown
		}
	}
	return tested
}

// adjust gives comparisons with an interval Holm's adjusted p-values: of m of them, in
// ascending order of p, the i-th is (m−i+1)·p, at most 1, and at least that of the one before.
func adjust(all []*Comparison) (m int) {
	tested := slices.DeleteFunc(slices.Clone(all), func(c *Comparison) bool { return c.Level == 0 })
	slices.SortStableFunc(tested, func(a, b *Comparison) int { return cmp.Compare(a.P, b.P) })
	before := 0.0
	for i, c := range tested {
		before = max(before, min(1, float64(len(tested)-i)*c.P))
		c.Adjusted = before
	}
	return len(tested)
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
