package analysis

import (
	"cmp"
	"math"
	"slices"

	"nettoll/record"
)

// series is a cell and its trials that count: one per round, in the order of rounds.
type series struct {
	cell   record.Cell
	trials []*record.Trial
	base   *series // the series that the cell is compared with: itself for a baseline; without trials if the run has none of it
}

// collect sorts trials into series: planned cells first, in their order, then cells that occur only in trials.
// If a resumed run measured a cell twice in one round, the last OK trial counts; if none is OK, the last one.
func collect(planned []record.Cell, trials []record.Trial) []series {
	var all []series
	index := map[record.Cell]int{}
	place := func(c record.Cell) int {
		i, ok := index[c]
		if !ok {
			i = len(all)
			index[c] = i
			all = append(all, series{cell: c})
		}
		return i
	}
	for _, c := range planned {
		place(c)
	}
	type slot struct {
		cell  record.Cell
		round int
	}
	taken := map[slot]int{}
	for i := range trials {
		t := &trials[i]
		s := &all[place(t.Cell)]
		at, again := taken[slot{t.Cell, t.Round}]
		switch {
		case !again:
			taken[slot{t.Cell, t.Round}] = len(s.trials)
			s.trials = append(s.trials, t)
		case t.Status == record.OK || s.trials[at].Status != record.OK:
			s.trials[at] = t
		}
	}
	for i, s := range all {
		slices.SortStableFunc(s.trials, func(a, b *record.Trial) int { return cmp.Compare(a.Round, b.Round) })
		all[i].base = &series{}
		if at, known := index[s.cell.Against()]; known {
			all[i].base = &all[at]
		}
	}
	return all
}

// BaselineName returns the name that reports use for the network that a
// cell is compared with: native, or else its own name.
func BaselineName(c record.Cell) string { return cmp.Or(c.Baseline, "native") }

// ok returns the trials that were measured over the intended path.
func (s series) ok() []*record.Trial {
	return slices.DeleteFunc(slices.Clone(s.trials), func(t *record.Trial) bool { return t.Status != record.OK })
}

// skipped reports whether the cell was tried and skipped every time: it cannot run here.
func (s series) skipped() bool {
	return len(s.trials) > 0 && !slices.ContainsFunc(s.trials, func(t *record.Trial) bool { return t.Status != record.Skipped })
}

// last returns the last round with a trial, or 0.
func (s series) last() (round int) {
	for _, t := range s.trials {
		round = max(round, t.Round)
	}
	return round
}

// points returns the values of a metric in the OK trials. Values in
// another unit than the metric's base unit are left out.
func (s series) points(k record.Kind) []Point {
	var out []Point
	for _, t := range s.trials {
		if m, has := t.Metrics[k.Name]; has && t.Status == record.OK && usable(k, m) {
			out = append(out, Point{t.Round, m.Value})
		}
	}
	return out
}

// usable reports whether a value is possible for the metric. Only added latency can be negative.
func usable(k record.Kind, m record.Metric) bool {
	possible := m.Value >= 0 || record.Signed(k.Name) && m.Value < 0
	return m.Unit == k.Unit && possible && !math.IsInf(m.Value, 0)
}

func values(points []Point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = p.Value
	}
	return out
}

// level is the confidence requested for the intervals and tests of a
// run. If the run file has none, or an impossible one, it is 95 %.
func level(s record.Settings) float64 {
	if s.Confidence > 0 && s.Confidence < 1 {
		return s.Confidence
	}
	return 0.95
}

// equalWithin is the difference that counts as none, as a share of the baseline.
func equalWithin(s record.Settings) float64 {
	if s.EqualWithin > 0 && s.EqualWithin < 1 {
		return s.EqualWithin
	}
	return record.DefaultEqualWithin
}
