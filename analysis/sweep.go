package analysis

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"nettoll/plan"
	"nettoll/record"
	"nettoll/reference"
)

// Tick is a value of an axis.
type Tick struct {
	Value float64 `json:"value"` // its position on the scale; of no limit twice the highest limit; on an axis that is not numeric its index from 0
	Label string  `json:"label"` // for display, for example 4x4, 64 KiB or m4.large
}

// Sweep is a row of scenarios that differ in one axis, or a matrix of
// scenarios that differ in two. A scenario may belong to several sweeps.
type Sweep struct {
	Cell       record.Cell   `json:"cell"` // common to all; without network, and zero where the axes vary
	X          Axis          `json:"x"`
	Y          Axis          `json:"y,omitzero"`          // of a matrix; zero for a row
	Kinds      []record.Kind `json:"-"`                   // metrics worth drawing that at least one point has, the most relevant first
	Lines      []Line        `json:"-"`                   // native first, the others in the order of the plan
	Namespaces Namespaces    `json:"hosts_are,omitempty"` // of the scenarios
}

// Line is one network in a sweep.
type Line struct {
	Network string // [platform:]network
	Native  bool
	Points  []SweepPoint // in the order of X, then Y; places that were not planned have none
}

// SweepPoint is one cell of a sweep. The figure of a metric is Row.Figure(name);
// a cell that was skipped or failed is included, with its reason and no figures.
type SweepPoint struct {
	X, Y int // indexes into the ticks of the axes
	Row  Row
}

// Matrix reports whether the sweep has two axes.
func (s Sweep) Matrix() bool { return s.Y.Name != "" }

// Rows iterates over all rows of a sweep, each with its line.
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

// First returns the first figure that of finds in a row.
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

// filled reports whether n scenarios are enough for a matrix. A run that
// varies two things one after the other makes a cross, not a matrix.
func (s Sweep) filled(n int) bool {
	w, h := len(s.X.Ticks), len(s.Y.Ticks)
	return w > 1 && h > 1 && n > w+h-1 && float64(n) >= leastFilled*float64(w*h)
}

// sweeps finds what was varied in a run: every group of two scenarios or more that differ
// in one axis, then every matrix of two. Sweeps of one axis are in the order of the plan.
func sweeps(res Result) []Sweep {
	axes := axes()
	var out []Sweep
	for _, x := range axes {
		for _, g := range groups(res.Scenarios, x, axis{}) {
			if s := newSweep(g, x, axis{}); len(s.X.Ticks) > 1 {
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

// groups gathers scenarios that differ in nothing but the axes, in the order of the plan.
func groups(all []Scenario, x, y axis) [][]Scenario {
	fitting := record.Those(all, func(s Scenario) bool { return x.holds(s.Cell) && y.holds(s.Cell) })
	return record.Gather(fitting, func(s Scenario) record.Cell { return y.without(x.without(s.Cell)) })
}

func newSweep(g []Scenario, x, y axis) Sweep {
	s := Sweep{Cell: y.without(x.without(g[0].Cell)), X: x.Axis, Y: y.Axis}
	s.X.Ticks = x.ticks(g)
	if y.tick != nil {
		s.Y.Ticks = y.ticks(g)
	}
	toX, toY := x.places(s.X.Ticks), y.places(s.Y.Ticks)
	var points []SweepPoint
	for _, scenario := range g {
		s.Namespaces = s.Namespaces || scenario.Namespaces
		for _, r := range scenario.Rows {
			points = append(points, SweepPoint{toX(scenario.Cell), toY(scenario.Cell), r})
		}
	}
	byPlace := func(a, b SweepPoint) int { return cmp.Or(a.X-b.X, a.Y-b.Y) }
	for _, own := range record.Gather(points, func(p SweepPoint) string { return p.Row.Cell.Network }) {
		line := Line{Network: own[0].Row.Cell.Network, Native: own[0].Row.Native}
		slices.SortStableFunc(own, byPlace)
		line.Points = slices.CompactFunc(own, func(a, b SweepPoint) bool { return byPlace(a, b) == 0 })
		s.Lines = append(s.Lines, line)
	}
	x.shorten(s.X.Ticks)
	y.shorten(s.Y.Ticks)
	slices.SortStableFunc(s.Lines, func(a, b Line) int { return nativeFirst(a.Native, b.Native) })
	s.Kinds = kindsOf(s, g)
	return s
}

// kindsOf returns the metrics worth drawing over a sweep. Where latency is known, the transaction rate adds
// nothing, unless the workload is ranked by it and nothing was measured per client. Where the number of
// clients varies, fairness is included, and throughput per client: it comes first if the workload is ranked by throughput.
func kindsOf(s Sweep, g []Scenario) []record.Kind {
	has := func(name string) bool {
		_, ok := s.First(func(r Row) (Figure, bool) { return r.Figure(name) })
		return ok
	}
	pairs := record.Distinct(g, func(s Scenario) int { return s.Cell.Pairs() })
	crowded := slices.Max(pairs) > 1 && has(record.ThroughputPerClient)
	names := slices.DeleteFunc(record.Ranked(g[0].Cell.Workload), func(name string) bool { return !has(name) })
	if slices.Contains(names, record.LatencyP50) && (crowded || names[0] != record.TransactionRate) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == record.TransactionRate })
	}
	if len(pairs) > 1 && has(record.ThroughputPerClient) {
		after := min(1, len(names))
		if after > 0 && names[0] == record.Throughput {
			after = 0
		}
		names = slices.Insert(names, after, record.ThroughputPerClient)
	}
	if len(pairs) > 1 && has(record.Fairness) {
		names = append(names, record.Fairness)
	}
	return record.AddNew([]record.Kind(nil), record.Found(names, record.KindOf)...)
}

// Axis is a quantity that is varied on purpose.
type Axis struct {
	Name  string `json:"name"`           // for programs, such as clients
	Title string `json:"title"`          // for display, for example clients in each container
	Unit  string `json:"unit,omitempty"` // of its values, such as B; see record.Dimension
	// Numeric means that ticks have a position on a scale; otherwise they only have an order.
	Numeric bool   `json:"numeric"`
	Ticks   []Tick `json:"ticks"` // the values, in order
}

// axis is an Axis with functions that place a cell on it. The zero axis stands for none.
type axis struct {
	Axis
	open  bool                      // 0 stands for no limit
	fits  func(record.Cell) bool    // nil means every cell
	tick  func(record.Cell) Tick    // Value orders ticks, Label distinguishes them
	clear func(*record.Cell)        // clears what the axis varies
	short func(label string) string // a shorter label for display, used if it is unambiguous; nil means the label itself
}

func (a axis) holds(c record.Cell) bool { return a.fits == nil || a.fits(c) }

func (a axis) without(c record.Cell) record.Cell {
	if a.clear != nil {
		a.clear(&c)
	}
	return c
}

// ticks returns the ticks of the scenarios, each once, in order.
func (a axis) ticks(g []Scenario) []Tick {
	out := record.Distinct(g, func(s Scenario) Tick { return a.tick(s.Cell) })
	slices.SortStableFunc(out, func(x, y Tick) int { return cmp.Compare(x.Value, y.Value) })
	switch n := len(out); {
	case !a.Numeric:
		for i := range out {
			out[i].Value = float64(i)
		}
	case a.open && n > 1 && out[0].Value == 0:
		out = append(out[1:], Tick{2 * out[n-1].Value, out[0].Label})
	}
	return out
}

// places returns a function that finds the index of a cell's tick by its label.
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

// axes lists the axes along which sweeps are looked for: counts, every option and condition that is no switch, and the
// underlay.
func axes() []axis {
	of := func(name string) axis {
		d, _ := record.DimensionOf(name)
		_, number := d.Number(record.Cell{})
		return axis{
			Axis: Axis{Name: d.Name, Title: d.Title, Unit: d.Unit, Numeric: number},
			open: d.Open,
			tick: func(c record.Cell) Tick {
				if v, ok := d.Number(c); ok {
					return Tick{float64(v), written(v, d.Unit)}
				}
				return Tick{0, cmp.Or(d.Text(c), d.Default(), "default")}
			},
			clear: d.Clear,
		}
	}
	all := []axis{
		of("clients"), of("servers"),
		{
			Axis:  Axis{Name: "servers-clients", Title: "servers x clients", Numeric: true},
			fits:  func(c record.Cell) bool { return c.Servers == c.Clients },
			tick:  func(c record.Cell) Tick { return Tick{float64(c.Clients), fmt.Sprintf("%dx%d", c.Servers, c.Clients)} },
			clear: func(c *record.Cell) { c.Servers, c.Clients = 0, 0 },
		},
		of("processes"),
	}
	for _, d := range record.Dimensions(record.Option, record.Condition) {
		if !d.Switch() {
			all = append(all, of(d.Name))
		}
	}
	return append(all, axis{
		Axis:  Axis{Name: "underlay", Title: "underlay"},
		tick:  func(c record.Cell) Tick { return Tick{float64(placeOfUnderlay(c.Underlay)), c.Underlay} },
		short: labelOfUnderlay,
		clear: func(c *record.Cell) { c.Underlay = "" },
	})
}

// written formats a value of an axis for display. Zero of a quantity with a unit means the tool's own choice, and no limit of a rate in
// bit/s.
func written(v int, unit string) string {
	switch {
	case unit == "":
		return strconv.Itoa(v)
	case v == 0 && unit == "bit/s":
		return "unlimited"
	case v == 0:
		return "default"
	}
	for _, of := range amounts[unit] {
		if v%of.times == 0 {
			return fmt.Sprintf("%d %s", v/of.times, of.name)
		}
	}
	return strconv.Itoa(v) + " " + unit
}

// amounts are the names of multiples of a unit, the largest first.
var amounts = map[string][]struct {
	times int
	name  string
}{
	"B":     {{1 << 20, "MiB"}, {1 << 10, "KiB"}},
	"bit/s": {{1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}},
	"1/s":   {{1e3, "k/s"}, {1, "/s"}},
}

// shapeOf reads the underlay of a cell; a text that is none, in a file that nettoll did not write, is unshaped.
func shapeOf(underlay string) plan.Underlay {
	u, _ := plan.ParseUnderlay(underlay)
	return u
}

func labelOfUnderlay(underlay string) string {
	return cmp.Or(shapeOf(underlay).Instance, underlay, "unshaped")
}

// placeOfUnderlay orders instances as their sources do, after everything else.
func placeOfUnderlay(underlay string) int {
	name := shapeOf(underlay).Instance
	return 1 + slices.IndexFunc(reference.Instances(), func(i reference.InstanceType) bool { return i.Name == name })
}
