package analysis

import (
	"cmp"
	"encoding/json"
	"slices"

	"nettoll/record"
)

// Multiplicity is the number of comparisons in a run, and its consequences.
type Multiplicity struct {
	// Comparisons with an interval, of the metrics that answer for their workloads.
	Comparisons int `json:"made"`
	// Expected is about how many of these would be marked as different by chance if no network differed from its baseline: at most
	// so many after a given number of rounds, and up to 1.4 times as many if rounds go on until intervals are narrow.
	Expected float64 `json:"expected_by_chance"`

	Primary int `json:"primary"`      // one per cell, of the metric it is ranked by, with an interval or without
	Missing int `json:"missing"`      // planned primary ones without any round to compare; not those of skipped cells
	Least   int `json:"least_rounds"` // rounds without which none of those with an interval could be called different, or of all if none has one

	// Verdicts of the primary comparisons.
	Different int `json:"different"`
	Same      int `json:"same"`
	NotKnown  int `json:"not_known"`
	Untested  int `json:"untested"`

	Costs    int `json:"cpu_cost"`      // comparisons of CPU cost, with an interval
	Extremes int `json:"first_or_last"` // of the first and last networks with the next, with an interval
}

// Tested returns the number of primary comparisons with an interval, for which their verdicts are corrected.
func (m Multiplicity) Tested() int { return m.Primary - m.Untested }

// giveVerdicts corrects the comparisons of a run that sentences rest on for their number, and counts
// the verdicts of the primary ones. An Outcome is about one interval. Among many of them some are
// Different by chance, and a summary that names those would be wrong more often than the level
// promises; so a verdict of Different needs an adjusted p-value below 1−level, see judgeTogether.
//
// There are three families, each corrected by itself: the primary comparisons; those of CPU
// cost, which is not primary since the CPU cost of a stream that keeps a CPU busy only repeats
// its throughput; and those of the first and last networks with their neighbours in the ranking.
func giveVerdicts(res *Result) {
	conf := level(res.Limits)
	var primary, costs, ends []*Comparison
	m := Multiplicity{}
	for _, s := range res.Scenarios {
		answers := s.Answers()
		for _, row := range s.Rows {
			main := row.compared()
			if main != nil {
				main.Primary = true
				primary = append(primary, main)
			} else if !row.Native && row.Status != record.Skipped {
				m.Missing++
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
	tested := judgeTogether(primary, conf)
	m.Primary, m.Least = len(primary), record.LeastRounds(cmp.Or(tested, len(primary)), conf)
	m.Costs, m.Extremes = judgeTogether(costs, conf), judgeTogether(ends, conf)
	n := map[Outcome]int{}
	for _, c := range primary {
		n[c.Verdict]++
	}
	m.Different, m.Same, m.NotKnown, m.Untested = n[Different], n[Same], n[NotKnown], n[Untested]
	res.Multiplicity = m
}

// compared returns the primary comparison of a row, nil if it has none.
func (r Row) compared() *Comparison {
	primary, ok := r.Primary()
	if !ok || r.Native {
		return nil
	}
	return primary.Comparison()
}

// mostRounds returns the greatest number of rounds of any primary comparison.
func (res *Result) mostRounds() (n int) {
	for _, r := range res.Rows() {
		if c := r.compared(); c != nil {
			n = max(n, c.N)
		}
	}
	return n
}

// judgeTogether gives verdicts on a family of comparisons, and returns how many of them
// have an interval. The method is from Holm, A simple sequentially rejective multiple test
// procedure, Scand. J. Statist. 6 (1979): the probability of one or more wrong verdicts of
// Different in the family is at most 1−level, however its comparisons depend on each other, after a given number of rounds.
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

// adjust sets Holm's adjusted p-values of comparisons with an interval: of m of them, in
// ascending order of p, the i-th is (m−i+1)·p, at most 1, and at least that of the one before.
func adjust(all []*Comparison) (m int) {
	tested := record.Those(all, func(c *Comparison) bool { return c.Level != 0 })
	slices.SortStableFunc(tested, func(a, b *Comparison) int { return cmp.Compare(a.P, b.P) })
	before := 0.0
	for i, c := range tested {
		before = max(before, min(1, float64(len(tested)-i)*c.P))
		c.Adjusted = before
	}
	return len(tested)
}

// Answers returns the metrics that answer for the workload of a scenario, among those that any
// of its rows has, with the metric that networks are ranked by first. Where latency is the
// question and is known, the transaction rate adds nothing, nor does the mean to the median.
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
	if k, known := record.KindOf(record.LatencyMean); known && len(out) == 0 && has(k.Name) { // networks are ranked by it then
		out = append(out, k)
	}
	return out
}

// Extreme is the network with the highest or the lowest figure of a scenario, together with the network next to it.
type Extreme struct {
	Kind          record.Kind
	Highest       bool
	Network, Next record.Cell
	Figure        Figure      // of Network
	Ratio         *Comparison // Network ÷ Next, paired by round, see pairOverParts
}

// MarshalJSON names the networks.
func (e Extreme) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Metric  string      `json:"metric"`
		Highest bool        `json:"highest"` // false means the lowest
		Network string      `json:"network"`
		Next    string      `json:"next"`
		Ratio   *Comparison `json:"ratio,omitempty"`
		Shown   bool        `json:"shown"`
	}{e.Kind.Name, e.Highest, e.Network.Network, e.Next.Network, e.Ratio, e.Shown()})
}

// Shown reports whether the network can be called the highest, or the lowest: it is beyond the next one,
// by a verdict among all extremes of the run. Testing the two that come first keeps the level: Gutmann and
// Maymin, Is the selected population the best?, Ann. Statist. 15 (1987). The order of the estimates can
// contradict that of the common rounds, since cells that are known well enough are not measured further.
func (e Extreme) Shown() bool {
	return e.Ratio != nil && e.Ratio.Verdict == Different && (e.Ratio.Value > 1) == e.Highest
}

// extremes returns the highest and the lowest of the networks that are compared, in the metric that they are
// ranked by and in its CPU cost. They are ordered by their ratio to the baseline, which is paired by round.
// If one of them has no ratio, as with a throughput of 0, its rank is unknown, and there are no extremes.
func extremes(s Scenario, j judging) []Extreme {
	answers := s.Answers()
	var out []Extreme
	for i, k := range answers {
		if i > 0 && k.Name != record.CPUPerGB && k.Name != record.CPUPerTransaction {
			continue
		}
		type ranked struct {
			cell record.Cell
			Figure
		}
		var all []ranked
		placed := true
		for _, r := range s.Rows {
			f, ok := r.Figure(k.Name)
			switch {
			case !ok || r.Native || r.Cell.Twin != 0:
			case f.Ratio == nil:
				placed = false
			default:
				all = append(all, ranked{r.Cell, f})
			}
		}
		if !placed || len(all) < 2 {
			continue
		}
		slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.Ratio.Value, a.Ratio.Value) })
		add := func(highest bool, a, b ranked) {
			out = append(out, Extreme{Kind: k, Highest: highest, Network: a.cell, Next: b.cell, Figure: a.Figure,
				Ratio: compare(pairFigures(&a.Figure, &b.Figure), k.Better, j)})
		}
		add(true, all[0], all[1])
		if len(all) > 2 { // of two, the lowest is compared with the highest already
			add(false, all[len(all)-1], all[len(all)-2])
		}
	}
	return out
}
