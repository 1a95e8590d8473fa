package analysis

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"nettoll/record"
	"nettoll/reference"
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
	Network string // [platform:]network
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
// varies two things one after the other makes a cross, not a matrix.
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

// Axis is something that is varied on purpose.
type Axis struct {
	Name  string `json:"name"`           // for programs, such as clients
	Title string `json:"title"`          // for people, such as clients in each container
	Unit  string `json:"unit,omitempty"` // "B", "bit/s", "1/s", or "" for counts and names
	// Numeric says that ticks have a place on a scale; else they are in order only.
	Numeric bool `json:"numeric"`
}

// axis is an Axis and the place of a cell on it. The zero axis is none.
type axis struct {
	Axis
	fits  func(record.Cell) bool    // nil is every cell
	tick  func(record.Cell) Tick    // Value orders ticks, Label tells them apart
	clear func(*record.Cell)        // what it varies
	short func(label string) string // a label for people, where it tells apart as well; nil is the label itself
}

func (a axis) holds(c record.Cell) bool { return a.fits == nil || a.fits(c) }

func (a axis) without(c record.Cell) record.Cell {
	if a.clear != nil {
		a.clear(&c)
	}
	return c
}

// ticks are those of the scenarios, each once, in order.
func (a axis) ticks(g []Scenario) []Tick {
	var out []Tick
	seen := map[Tick]bool{}
	for _, s := range g {
		if t := a.tick(s.Cell); !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(x, y Tick) int { return cmp.Compare(x.Value, y.Value) })
	if !a.Numeric {
		for i := range out {
			out[i].Value = float64(i)
		}
	}
	return out
}

// places finds the ticks of cells by their labels.
func (a axis) places(ticks []Tick) func(record.Cell) int {
	if a.tick == nil {
		return func(record.Cell) int { return 0 }
	}
	at := make(map[string]int, len(ticks))
	for i, t := range slices.Backward(ticks) { // of equal labels the first
		at[t.Label] = i
	}
	return func(c record.Cell) int { return at[a.tick(c).Label] }
}

// shorten gives ticks their short labels, unless two would have the same.
func (a axis) shorten(ticks []Tick) {
	if a.short == nil {
		return
	}
	count := map[string]int{}
	for _, t := range ticks {
		count[a.short(t.Label)]++
	}
	for i, t := range ticks {
		if s := a.short(t.Label); count[s] == 1 {
			ticks[i].Label = s
		}
	}
}

// axes lists what sweeps are looked for in.
func axes() []axis {
	of := func(name string) axis {
		d, _ := record.DimensionOf(name)
		_, number := d.Number(record.Cell{})
		return axis{
			Axis: Axis{Name: d.Name, Title: d.Title, Unit: d.Unit, Numeric: number},
			tick: func(c record.Cell) Tick {
				if v, ok := d.Number(c); ok {
					return Tick{float64(v), amount(v, d.Unit)}
				}
				return Tick{0, cmp.Or(d.Text(c), "as it is")}
			},
			clear: d.Clear,
		}
	}
	return []axis{
		of("clients"), of("servers"),
		{
			Axis:  Axis{Name: "servers-clients", Title: "servers x clients", Numeric: true},
			fits:  func(c record.Cell) bool { return c.Servers == c.Clients },
			tick:  func(c record.Cell) Tick { return Tick{float64(c.Clients), fmt.Sprintf("%dx%d", c.Servers, c.Clients)} },
			clear: func(c *record.Cell) { c.Servers, c.Clients = 0, 0 },
		},
		of("processes"), of("streams"), of("message-size"), of("request-size"), of("mtu"), of("rules"), of("neighbours"),
		of("bandwidth"), of("rate"), of("congestion"),
		{
			Axis:  Axis{Name: "underlay", Title: "underlay"},
			tick:  func(c record.Cell) Tick { return Tick{float64(placeOfUnderlay(c.Underlay)), c.Underlay} },
			short: labelOfUnderlay,
			clear: func(c *record.Cell) { c.Underlay = "" },
		},
	}
}

// amount writes a value of an axis for people. Zero of something that has a unit
// is the tool's own choice.
func amount(v int, unit string) string {
	switch {
	case unit == "":
		return strconv.Itoa(v)
	case v == 0 && unit == "B":
		return "default"
	case v == 0:
		return "unlimited"
	case unit == "B" && v >= 1<<20 && v%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", v>>20)
	case unit == "B" && v >= 1<<10 && v%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", v>>10)
	case unit == "bit/s" && v%1e9 == 0:
		return fmt.Sprintf("%d Gbit/s", v/1e9)
	case unit == "bit/s" && v%1e6 == 0:
		return fmt.Sprintf("%d Mbit/s", v/1e6)
	case unit == "bit/s" && v%1e3 == 0:
		return fmt.Sprintf("%d kbit/s", v/1e3)
	}
	if unit == "1/s" {
		if v%1e3 == 0 {
			return fmt.Sprintf("%d k/s", v/1e3)
		}
		return strconv.Itoa(v) + " /s"
	}
	return strconv.Itoa(v) + " " + unit
}

// instanceOf is the name of the instance that an underlay is labelled with:
// what stands before a colon, or all of it where it is no shape.
func instanceOf(underlay string) string {
	name, _, labelled := strings.Cut(underlay, ":")
	if !labelled && strings.Contains(name, "=") {
		return ""
	}
	return name
}

func labelOfUnderlay(underlay string) string {
	return cmp.Or(instanceOf(underlay), underlay, "unshaped")
}

// placeOfUnderlay orders instances as their sources do, after everything else.
func placeOfUnderlay(underlay string) int {
	return 1 + slices.IndexFunc(reference.Instances(), func(i reference.InstanceType) bool { return i.Name == instanceOf(underlay) })
}
