package analysis

import (
	"cmp"
	"iter"
	"slices"

	"nettoll/record"
)

// Tick is a value of an axis.
type Tick struct {
	Value float64 `json:"value"` // its place on the scale; on an axis that is not numeric its index from 0
	Label string  `json:"label"` // for people, such as 4x4, 64 KiB or m4.large
}

// Sweep is a row of scenarios that differ in one axis, or a matrix of such that
// differ in two. A scenario may belong to several sweeps.
type Sweep struct {
	Cell   record.Cell // what all share; without network, and zero where the axes vary
	X      Axis
	Y      Axis // of a matrix; Name is "" for a row
	XTicks []Tick
	YTicks []Tick        // nil for a row
	Kinds  []record.Kind // metrics worth drawing that at least one point has, the one that answers first in front
	Lines  []Line        // native first, the others in the order of the plan
	// Namespaces is that of its scenarios.
	Namespaces Namespaces
}

// Line is a network over a sweep.
type Line struct {
	Network string // [platform:]technique
	Native  bool
	Points  []SweepPoint // in the order of X, within it of Y; a place that was not planned has none
}

// SweepPoint is one cell of a sweep. The figure of a metric is Row.Figure(name);
// a cell that was skipped or failed is there too, with its reason and no figures.
type SweepPoint struct {
	X, Y int // indexes into XTicks and YTicks
	Row  Row
}

// Matrix reports whether the sweep has two axes.
func (s Sweep) Matrix() bool { return s.Y.Name != "" }

// Rows are all rows of a sweep, each with its line.
func (s Sweep) Rows() iter.Seq2[Line, Row] {
	return func(yield func(Line, Row) bool) {
		for _, l := range s.Lines {
			for _, p := range l.Points {
				if !yield(l, p.Row) {
					return
				}
			}
		}
	}
}

// First is the first figure that any row has of something.
func (s Sweep) First(of func(Row) (Figure, bool)) (Figure, bool) {
	for _, row := range s.Rows() {
		if f, ok := of(row); ok {
			return f, true
		}
	}
	return Figure{}, false
}

// leastFilled is the share of the places of a matrix that must have been planned.
const leastFilled = 0.4

// filled reports whether so many scenarios make a matrix of a sweep. A run that
// varies two things one after the other makes a cross of them, and no matrix.
func (s Sweep) filled(n int) bool {
	w, h := len(s.XTicks), len(s.YTicks)
	return w > 1 && h > 1 && n > w+h-1 && float64(n) >= leastFilled*float64(w*h)
}

// sweeps finds what was varied in a run: every group of two scenarios or more
// that differ in one axis, then every matrix of two. Sweeps of one axis come in the
// order of the plan.
func sweeps(res Result) []Sweep {
	axes := axes()
	var out []Sweep
	for _, x := range axes {
		for _, g := range groups(res.Scenarios, x, axis{}) {
			if s := newSweep(g, x, axis{}); len(s.XTicks) > 1 {
				out = append(out, s)
			}
		}
	}
	for i, x := range axes {
		for _, y := range axes[i+1:] {
			for _, g := range groups(res.Scenarios, x, y) {
				if s := newSweep(g, x, y); s.filled(len(g)) {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// groups gathers scenarios that differ in nothing but the axes, in the order of
// the plan.
func groups(all []Scenario, x, y axis) [][]Scenario {
	var out [][]Scenario
	index := map[record.Cell]int{}
	for _, s := range all {
		if !x.holds(s.Cell) || !y.holds(s.Cell) {
			continue
		}
		rest := y.without(x.without(s.Cell))
		i, known := index[rest]
		if !known {
			i = len(out)
			index[rest] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

func newSweep(g []Scenario, x, y axis) Sweep {
	s := Sweep{Cell: y.without(x.without(g[0].Cell)), X: x.Axis, Y: y.Axis, XTicks: x.ticks(g)}
	if y.tick != nil {
		s.YTicks = y.ticks(g)
	}
	index := map[string]int{}
	type place struct{ line, x, y int }
	taken := map[place]bool{}
	toX, toY := x.places(s.XTicks), y.places(s.YTicks)
	for _, scenario := range g {
		s.Namespaces = s.Namespaces || scenario.Namespaces
		at := SweepPoint{X: toX(scenario.Cell), Y: toY(scenario.Cell)}
		for _, r := range scenario.Rows {
			if r.Cell.Twin == 2 {
				continue
			}
			i, known := index[r.Cell.Network]
			if !known {
				i = len(s.Lines)
				index[r.Cell.Network] = i
				s.Lines = append(s.Lines, Line{Network: r.Cell.Network, Native: r.Native})
			}
			if here := (place{i, at.X, at.Y}); !taken[here] {
				taken[here] = true
				at.Row = r
				s.Lines[i].Points = append(s.Lines[i].Points, at)
			}
		}
	}
	for _, l := range s.Lines {
		slices.SortStableFunc(l.Points, func(a, b SweepPoint) int { return cmp.Or(a.X-b.X, a.Y-b.Y) })
	}
	x.shorten(s.XTicks)
	y.shorten(s.YTicks)
	slices.SortStableFunc(s.Lines, func(a, b Line) int { return firstNative(Row{Native: a.Native}) - firstNative(Row{Native: b.Native}) })
	s.Kinds = kindsOf(s, g)
	return s
}

// kindsOf are the metrics worth drawing over a sweep. Where latency is known, the transaction rate says nothing new.
// Where the number of clients varies, what each of them gets is what a reader asks for, and how even that is.
func kindsOf(s Sweep, g []Scenario) []record.Kind {
	has := func(name string) bool {
		_, ok := s.First(func(r Row) (Figure, bool) { return r.Figure(name) })
		return ok
	}
	pairs := map[int]bool{}
	crowded := false
	for _, scenario := range g {
		pairs[scenario.Cell.Pairs()] = true
		crowded = crowded || scenario.Cell.Pairs() > 1
	}
	crowded = crowded && has(record.ThroughputPerClient)
	names := slices.DeleteFunc(append(record.Primary(g[0].Cell.Workload), record.LatencyMean), func(name string) bool { return !has(name) })
	if slices.Contains(names, record.LatencyP50) && (crowded || names[0] != record.TransactionRate) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == record.TransactionRate })
	}
	if len(pairs) > 1 && has(record.ThroughputPerClient) {
		names = append([]string{record.ThroughputPerClient}, names...)
	}
	if len(pairs) > 1 && has(record.Fairness) {
		names = append(names, record.Fairness)
	}
	var out []record.Kind
	for i, name := range names {
		if k, known := record.KindOf(name); known && !slices.Contains(names[:i], name) {
			out = append(out, k)
		}
	}
	return out
}
