package analysis

import (
	"cmp"
	"math"
	"slices"

	"nettoll/record"
)

// series is a cell and its trials that count: one per round, or for a baseline one per part of a round, in the
// order of rounds and parts.
type series struct {
	cell   record.Cell
	trials []*record.Trial
	base   *series // what the cell is compared with, see beside: itself for a baseline; without trials if the run has none of it
	whole  *series // the same, in all slices of the baseline
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
		cell        record.Cell
		round, part int
	}
	taken := map[slot]int{}
	for i := range trials {
		t := &trials[i]
		s := &all[place(t.Cell)]
		in := slot{cell: t.Cell, round: t.Round}
		if t.Cell.IsNative() {
			in.part = t.Part // only baselines are measured in several parts
		}
		at, again := taken[in]
		switch {
		case !again:
			taken[in] = len(s.trials)
			s.trials = append(s.trials, t)
		case t.Status == record.OK || s.trials[at].Status != record.OK:
			s.trials[at] = t
		}
	}
	for i, s := range all {
		slices.SortStableFunc(s.trials, func(a, b *record.Trial) int {
			return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Part, b.Part))
		})
		all[i].base, all[i].whole = &series{}, &series{}
	}
	for i, s := range all {
		if at, known := index[s.cell.Against()]; known {
			all[i].base = all[at].beside(&all[i], inAsMany)
			all[i].whole = all[at].beside(&all[i], func(t, _ *record.Trial) *record.Trial { return t })
		}
	}
	return all
}

// beside returns the trials of a baseline that a cell is compared with: in each round that of the cell's own part,
// which took place beside it, as it is seen beside the cell's trial. A cell that was in no part is compared with the one that is
// nearest to it: the mean of several would vary less than the cell, and in another shape (see inAsMany).
func (s *series) beside(c *series, seen func(t, of *record.Trial) *record.Trial) *series {
	if s == c {
		return s
	}
	at := map[int]*record.Trial{} // by round
	for _, t := range c.trials {
		at[t.Round] = t
	}
	own := series{cell: s.cell}
	own.base, own.whole = &own, &own
	for _, parts := range record.Gather(s.trials, func(t *record.Trial) int { return t.Round }) {
		of := at[parts[0].Round]
		if of == nil {
			own.trials = append(own.trials, parts...)
			continue
		}
		t, beside := record.First(parts, func(t *record.Trial) bool { return t.Part == of.Part })
		if !beside && of.Part == 0 {
			t = nearestTrial(parts, of)
		}
		if t != nil {
			own.trials = append(own.trials, seen(t, of))
		}
	}
	return &own
}

// nearestTrial returns which of the trials took place the least before or after another one of the same round: a good one, if there is
// any.
func nearestTrial(trials []*record.Trial, of *record.Trial) *record.Trial {
	apart := func(t *record.Trial) int { return max(t.Order-of.Order, of.Order-t.Order) }
	return slices.MinFunc(series{trials: trials}.counting(), func(a, b *record.Trial) int { return cmp.Compare(apart(a), apart(b)) })
}

// BaselineName returns the name that reports use for the network that a
// cell is compared with: native, or else its own name.
func BaselineName(c record.Cell) string { return cmp.Or(c.Baseline, "native") }

// ok returns the trials that were measured over the intended path.
func (s series) ok() []*record.Trial {
	return record.Those(s.trials, func(t *record.Trial) bool { return t.Status == record.OK })
}

// skipped reports whether the cell was tried and skipped every time: it cannot run here.
func (s series) skipped() bool {
	return len(s.trials) > 0 && !slices.ContainsFunc(s.trials, func(t *record.Trial) bool { return t.Status != record.Skipped })
}

// last returns the last round with a trial, or 0.
func (s series) last() int {
	return record.Most(s.trials, func(t *record.Trial) int { return t.Round })
}

// points returns the values of a metric in the OK trials. Values in
// another unit than the metric's base unit are left out.
func (s series) points(k record.Kind) []Point {
	var out []Point
	for _, t := range s.trials {
		if v, has := ValueOf(t, k); has && t.Status == record.OK {
			out = append(out, Point{t.Round, v})
		}
	}
	return perRound(out)
}

// perRound combines the values of a baseline that was measured in several parts of a round into one. The round
// remains the unit of inference: what disturbs a machine or differs between builds can be common to its parts, so
// that counting each by itself would make intervals too narrow. The value is the geometric mean, since figures are
// estimated from logarithms; it is the arithmetic mean in all rounds if a value is 0 or less, where figures are
// medians. Every part counts alike, whichever networks stood there.
func perRound(points []Point) []Point {
	again := func(a, b Point) bool { return a.Round == b.Round }
	if len(slices.CompactFunc(slices.Clone(points), again)) == len(points) {
		return points
	}
	rounds := record.Gather(points, func(p Point) int { return p.Round })
	geometric := !slices.ContainsFunc(points, func(p Point) bool { return p.Value <= 0 })
	out := make([]Point, len(rounds))
	for i, parts := range rounds {
		mean := 0.0
		for _, p := range parts {
			v := p.Value
			if geometric && len(parts) > 1 {
				v = math.Log(v)
			}
			mean += v / float64(len(parts))
		}
		if geometric && len(parts) > 1 {
			mean = math.Exp(mean)
		}
		out[i] = Point{parts[0].Round, mean}
	}
	return out
}

// ValueOf returns the value of a metric in a trial, in its base unit. One in another unit, or an impossible one, does not count.
func ValueOf(t *record.Trial, k record.Kind) (value float64, has bool) {
	m, has := t.Metrics[k.Name]
	return m.Value, has && usable(k, m)
}

// usable reports whether a value is possible for the metric. Only added latency can be negative.
func usable(k record.Kind, m record.Metric) bool {
	possible := m.Value >= 0 || record.Signed(k.Name) && m.Value < 0
	return m.Unit == k.Unit && possible && !math.IsInf(m.Value, 0)
}

func values(points []Point) []float64 {
	return record.Each(points, func(p Point) float64 { return p.Value })
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
