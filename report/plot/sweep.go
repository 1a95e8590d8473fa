package plot

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"nettoll/record"
)

// Series is one network over a sweep, or under several loads.
type Series struct {
	Name   string
	Look   Look
	Points []Point // by X, ascending; for loads in the order of the offered load
}

// Point is a measurement at one place of the axis. X has an interval, too, if it was measured.
type Point struct {
	X, Y  Extent
	Apart bool // something between it and the point before was to be measured, and was not
}

// Extent is a value and its interval, whose ends equal the value if there is none.
type Extent struct{ Value, Low, High float64 }

// Axis is the quantity that is varied.
type Axis struct {
	Title string
	Ticks []Tick // ascending
	Log   bool   // each doubling is equally wide
}

// Tick is one value of an axis.
type Tick struct {
	At   float64
	Text string
}

// Room below the axis for its title, and to the right of the lines for their names.
const titleRoom = 15 * vg.Length(1)

const nameRoom = 114 * vg.Length(1)

// Sweep draws a line for each network on an axis that includes zero, its interval as a band, and its name at its end.
func Sweep(all []Series, x Axis, label string) Chart {
	places := x.scale()
	all = record.Each(all, places.series)
	x.Ticks = record.Each(x.Ticks, func(t Tick) Tick { return Tick{places.place(t.At), clip(t.Text, 20)} })
	p := ruled()
	least, most, points := 0.0, 0.0, 0
	for _, s := range all {
		points += len(s.Points)
		for _, at := range s.Points {
			least, most = min(least, at.Y.Value, at.Y.Low), max(most, at.Y.Value, at.Y.High)
		}
	}
	if points == 0 || len(x.Ticks) == 0 {
		return Chart{}
	}
	for _, s := range all {
		addBand(p, s)
	}
	for _, s := range all {
		addLine(p, s.Look, s.Points)
	}
	p.Add(painted(func(c draw.Canvas, p *plot.Plot) { writeNames(c, p, all) }))
	p.X.Min, p.X.Max = -0.02, 1.02
	if least == 0 {
		most = cmp.Or(most, 1)
	}
	p.Y.Min, p.Y.Max = least, most+0.04*(most-least)
	p.X.Padding = 6
	p.X.Tick.Marker = x.marker(p.X)
	p.Y.Tick.Marker = plot.TickerFunc(upTicks)
	height := max(210, 15*vg.Length(len(all))+60)
	return Chart{label: label, height: height, paint: func(c draw.Canvas) {
		write(c, letters-1, roleTick, c.Min.X+(width-nameRoom)/2+10, c.Min.Y+7, clip(x.Title, 34))
		p.Draw(draw.Crop(c, 0, -nameRoom, titleRoom, -4))
	}}
}

// pieces returns the points in the pieces that lines join.
func pieces(points []Point) (all [][]Point) {
	for i, at := range points {
		if i == 0 || at.Apart {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], at)
	}
	return all
}

func addBand(p *plot.Plot, s Series) {
	for _, piece := range pieces(s.Points) {
		if len(piece) < 2 {
			continue
		}
		outline := record.Each(piece, func(at Point) plotter.XY { return plotter.XY{X: at.X.Value, Y: max(at.Y.High, at.Y.Value)} })
		for _, at := range slices.Backward(piece) {
			outline = append(outline, plotter.XY{X: at.X.Value, Y: min(at.Y.Low, at.Y.Value)})
		}
		p.Add(&plotter.Polygon{XYs: []plotter.XYs{outline}, Color: (roleBand + role(s.Look.Color)).color()})
	}
}

// addLine draws a network's line and its points.
func addLine(p *plot.Plot, look Look, points []Point) {
	line := look.line()
	for _, piece := range pieces(points) {
		places := record.Each(piece, func(at Point) plotter.XY { return plotter.XY{X: at.X.Value, Y: at.Y.Value} })
		p.Add(&plotter.Line{XYs: places, LineStyle: line},
			&plotter.Scatter{XYs: places, GlyphStyle: draw.GlyphStyle{Color: line.Color, Radius: 2.4, Shape: draw.CircleGlyph{}}})
	}
}

// marker labels as many values as there is room for, starting with the last one.
func (x Axis) marker(axis plot.Axis) plot.Ticker {
	const room = width - nameRoom - 34
	return plot.TickerFunc(func(_, _ float64) []plot.Tick {
		var ticks []plot.Tick
		next := math.Inf(1)
		for i := len(x.Ticks) - 1; i >= 0; i-- {
			t := x.Ticks[i]
			at := axis.Norm(t.At) * room.Points()
			half := 3.6 * float64(len([]rune(t.Text)))
			tick := plot.Tick{Value: t.At}
			if at+half+8 <= next {
				tick.Label = t.Text
				next = at - half
			}
			ticks = append(ticks, tick)
		}
		slices.Reverse(ticks)
		return ticks
	})
}

// writeNames writes the names of lines at their ends, one below the other.
func writeNames(c draw.Canvas, p *plot.Plot, lines []Series) {
	const apart = 14
	toX, toY := p.Transforms(&c)
	type ending struct {
		s      Series
		at     vg.Point
		spread vg.Length
	}
	var all []ending
	for _, s := range lines {
		if n := len(s.Points); n > 0 {
			at := vg.Point{X: toX(s.Points[n-1].X.Value), Y: toY(s.Points[n-1].Y.Value)}
			all = append(all, ending{s, at, at.Y})
		}
	}
	slices.SortStableFunc(all, func(a, b ending) int { return cmp.Compare(b.at.Y, a.at.Y) })
	for i := range all {
		if i > 0 {
			all[i].spread = min(all[i].spread, all[i-1].spread-apart)
		}
	}
	// Names pushed below the axis push the others up.
	floor := c.Min.Y + 5
	for i := len(all) - 1; i >= 0; i-- {
		all[i].spread = max(all[i].spread, floor)
		floor = all[i].spread + apart
	}
	shorter := shortened(record.Each(lines, func(s Series) string { return s.Name }), 14)
	for _, one := range all {
		look := one.s.Look.line()
		x := c.Max.X + 12
		if one.at.X >= toX(1) { // from where a line ends earlier, it would look like a part of it
			c.StrokeLine2(draw.LineStyle{Color: look.Color, Width: 0.6}, one.at.X+3, one.at.Y, x, one.spread)
		}
		c.StrokeLine2(look, x, one.spread, x+11, one.spread)
		write(c, letters-1, roleText, x+15, one.spread, shorter(one.s.Name))
	}
}

// factorsFrom is the ratio of the greatest to the least value from which an axis is logarithmic.
const factorsFrom = 10

// Load draws a line for each network over the load that it achieved, which may turn back where
// more was offered. Each axis begins at zero, or is logarithmic if its values are far apart.
func Load(all []Series, xTitle, label string) Chart {
	all = record.Those(all, func(l Series) bool { return len(l.Points) > 0 })
	if len(all) == 0 {
		return Chart{}
	}
	var xs, ys []Extent
	for _, l := range all {
		for _, p := range l.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	x, y := scaleOf(xs), scaleOf(ys)
	p := ruled()
	for _, l := range all {
		addLoad(p, l.Look, record.Each(l.Points, func(p Point) Point { return Point{X: x.extent(p.X), Y: y.extent(p.Y)} }))
	}
	p.X.Min, p.X.Max = -0.02, 1.02
	p.Y.Min, p.Y.Max = 0, 1.04
	p.X.Padding = 6
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(x.ticks()), plot.ConstantTicks(y.ticks())
	return Chart{label: label, height: 230, paint: func(c draw.Canvas) {
		write(c, letters-1, roleTick, c.Min.X+width/2+10, c.Min.Y+7, clip(xTitle, 44))
		p.Draw(draw.Crop(c, 0, 0, titleRoom, -4))
	}}
}

// addLoad draws a network's intervals, and a line through its points.
func addLoad(p *plot.Plot, look Look, points []Point) {
	for _, at := range points {
		for _, arm := range []plotter.XYs{
			{{X: at.X.Low, Y: at.Y.Value}, {X: at.X.High, Y: at.Y.Value}},
			{{X: at.X.Value, Y: at.Y.Low}, {X: at.X.Value, Y: at.Y.High}},
		} {
			p.Add(&plotter.Line{XYs: arm, LineStyle: draw.LineStyle{Color: look.line().Color, Width: 0.6}})
		}
	}
	addLine(p, look, points)
}

// scaleOf returns the scale of an axis for some values and their intervals.
func scaleOf(all []Extent) scale {
	least, most := math.Inf(1), 0.0
	for _, e := range all {
		for _, v := range []float64{e.Value, e.Low, e.High} {
			least, most = min(least, drawn(v)), max(most, drawn(v))
		}
	}
	if least > 0 && most/least > factorsFrom {
		const room = 1.05
		return scale{least: least / room, greatest: most * room, factors: true}
	}
	return scale{greatest: most}
}

func (s scale) extent(e Extent) Extent {
	return Extent{s.place(e.Value), s.place(min(e.Low, e.Value)), s.place(max(e.High, e.Value))}
}

// ticks returns round values of the scale, at their places.
func (s scale) ticks() []plot.Tick {
	if !s.factors {
		return record.Each(upTicks(0, s.greatest), func(t plot.Tick) plot.Tick { return plot.Tick{Value: s.place(t.Value), Label: t.Label} })
	}
	decades := max(1, math.Ceil(math.Log10(s.greatest/s.least)/6))
	return record.Each(roundFactors(s.least, s.greatest, decades), func(v float64) plot.Tick {
		return plot.Tick{Value: s.place(v), Label: strconv.FormatFloat(v, 'g', 6, 64)}
	})
}

// nearest and farthest are the least and the largest number drawn to scale. Next to ordinary
// numbers, those beyond these limits would look like 0 or like the largest number. Sums and
// ratios of numbers within the limits are finite.
const (
	nearest  = 1 / farthest
	farthest = 1e30
)

// drawn returns the position of a value on an axis that begins at zero; NaN is placed at
// zero. A position far outside of a chart would take very long to paint.
func drawn(v float64) float64 {
	if !(v >= nearest) { // also false for NaN
		return 0
	}
	return min(v, farthest)
}

// signed is the same for values of metrics that can be negative.
func signed(v float64) float64 {
	if v < 0 {
		return -drawn(-v)
	}
	return drawn(v)
}

func (b Bar) drawn() Bar {
	b.Value, b.Low, b.High = signed(b.Value), signed(b.Low), signed(b.High)
	b.Parts = record.Each(b.Parts, func(p Part) Part { return Part{drawn(p.Value), p.Look} })
	return b
}

// scale maps the values of an axis to positions, from 0 at the least to 1 at the greatest.
type scale struct {
	least, greatest float64
	factors         bool // equal factors, instead of equal steps, are equally far apart
}

// scale returns the scale of the axis's ticks. If the least and greatest are equal,
// everything is placed in the middle.
func (x Axis) scale() scale {
	s := scale{least: math.Inf(1)}
	for _, t := range x.Ticks {
		s.least, s.greatest = min(s.least, drawn(t.At)), max(s.greatest, drawn(t.At))
	}
	s.factors = x.Log && s.least > 0
	return s
}

func (s scale) place(v float64) float64 {
	v = min(max(drawn(v), s.least), s.greatest)
	share := (v - s.least) / (s.greatest - s.least)
	if s.factors {
		share = math.Log(v/s.least) / math.Log(s.greatest/s.least)
	}
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return 0.5
	}
	return share
}

// series replaces the points of a line by their places.
func (s scale) series(l Series) Series {
	l.Points = record.Each(l.Points, func(p Point) Point {
		p.X, p.Y = Extent{Value: s.place(p.X.Value)}, Extent{signed(p.Y.Value), signed(p.Y.Low), signed(p.Y.High)}
		return p
	})
	return l
}
