package analysis

import (
	"cmp"
	"math"
	"slices"

	"nettoll/record"
)

// series is a cell and its trials that count: one a round, in the order of
// rounds.
type series struct {
	cell   record.Cell
	trials []*record.Trial
}

// collect sorts trials into series: planned cells first, in their order, then
// cells that only the trials know. Where a resumed run measured a cell twice in
// one round, the last OK trial counts; where none is OK, the last one.
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
	for _, s := range all {
		slices.SortStableFunc(s.trials, func(a, b *record.Trial) int { return cmp.Compare(a.Round, b.Round) })
	}
	return all
}

// BaselineName is what reports call the network that a cell is compared with: native,
// or else its name.
func BaselineName(c record.Cell) string { return cmp.Or(c.Baseline, "native") }

// ok are the trials that were measured over the intended path.
func (s series) ok() []*record.Trial {
	var out []*record.Trial
	for _, t := range s.trials {
		if t.Status == record.OK {
			out = append(out, t)
		}
	}
	return out
}

// skipped reports whether the cell was tried and skipped every time: it cannot run here.
func (s series) skipped() bool {
	for _, t := range s.trials {
		if t.Status != record.Skipped {
			return false
		}
	}
	return len(s.trials) > 0
}

// last is the last round with a trial, 0 where there is none.
func (s series) last() (round int) {
	for _, t := range s.trials {
		round = max(round, t.Round)
	}
	return round
}

// points are the values of a metric in the OK trials. A value in another unit
// than the metric's base unit is not one of them.
func (s series) points(k record.Kind) []Point {
	var out []Point
	for _, t := range s.trials {
		m, has := t.Metrics[k.Name]
		if t.Status == record.OK && has && usable(k, m) {
			out = append(out, Point{t.Round, m.Value})
		}
	}
	return out
}

// usable reports whether a value is possible for the metric. Only added latency
// can be negative.
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

// level is the confidence that intervals and tests of a run are asked for.
// A run file that does not name a possible one gets 95 %.
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
