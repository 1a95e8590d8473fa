package plot

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is one network over a sweep.
type Series struct {
	Name   string
	Look   Look
	Points []Point // by X, ascending
}

// Point is what was measured at one value of the axis.
type Point struct {
	X         float64
	Y         float64
	Low, High float64 // interval; equal to Y where there is none
}

// Axis is what is swept.
type Axis struct {
	Title string
	Ticks []Tick // ascending
	Log   bool   // each doubling as wide as the one before
}

// Tick is one value of an axis.
type Tick struct {
	At   float64
	Text string
}

// Room below the axis for its title, and to the right of the lines for their names.
const titleRoom = 15 * vg.Length(1)

const nameRoom = 114 * vg.Length(1)

// Sweep draws a line for each network from zero upwards, its interval as a
// band, and its name at its end.
func Sweep(all []Series, x Axis, label string) Chart {
	places := x.scale()
	all = each(all, places.series)
	x.Ticks = each(x.Ticks, func(t Tick) Tick { return Tick{places.place(t.At), clip(t.Text, 20)} })
	p := ruled()
	most, points := 0.0, 0
	for _, s := range all {
		points += len(s.Points)
		for _, at := range s.Points {
			most = max(most, at.Y, at.High)
		}
	}
	if points == 0 || len(x.Ticks) == 0 {
		return Chart{}
	}
	if most == 0 {
		most = 1
	}
	for _, s := range all {
		addBand(p, s)
	}
	for _, s := range all {
		var places plotter.XYs
		for _, at := range s.Points {
			places = append(places, plotter.XY{X: at.X, Y: at.Y})
		}
		addLine(p, s.Look, places)
	}
	p.Add(endings(all))
	p.X.Min, p.X.Max = -0.02, 1.02
	p.Y.Min, p.Y.Max = 0, most*1.04
	p.X.Padding = 6
	p.X.Tick.Marker = x.marker(p.X)
	p.Y.Tick.Marker = plot.TickerFunc(upTicks)
	height := max(210, 15*vg.Length(len(all))+60)
	return Chart{label: label, height: height, paint: func(c draw.Canvas) {
		write(c, letters-1, roleTick, c.Min.X+(width-nameRoom)/2+10, c.Min.Y+7, clip(x.Title, 34))
		p.Draw(draw.Crop(c, 0, -nameRoom, titleRoom, -4))
	}}
}

func addBand(p *plot.Plot, s Series) {
	if len(s.Points) < 2 {
		return
	}
	var outline plotter.XYs
	for _, at := range s.Points {
		outline = append(outline, plotter.XY{X: at.X, Y: max(at.High, at.Y)})
	}
	for i := len(s.Points) - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: s.Points[i].X, Y: max(0, min(s.Points[i].Low, s.Points[i].Y))})
	}
	p.Add(&plotter.Polygon{XYs: []plotter.XYs{outline}, Color: (roleBand + role(s.Look.Color)).color()})
}

// addLine draws a network's line and its points.
func addLine(p *plot.Plot, look Look, places plotter.XYs) {
	line := look.line()
	p.Add(&plotter.Line{XYs: places, LineStyle: line},
		&plotter.Scatter{XYs: places, GlyphStyle: draw.GlyphStyle{Color: line.Color, Radius: 2.4, Shape: draw.CircleGlyph{}}})
}

// marker labels as many values as there is room for, the last one first.
func (x Axis) marker(axis plot.Axis) plot.Ticker {
	const room = width - nameRoom - 34
	return plot.TickerFunc(func(_, _ float64) []plot.Tick {
		var ticks []plot.Tick
		next := math.Inf(1)
		for i := len(x.Ticks) - 1; i >= 0; i-- {
			t := x.Ticks[i]
			at := axis.Norm(t.At) * room.Points()
			half := 3.4 * float64(len([]rune(t.Text)))
			tick := plot.Tick{Value: t.At}
			if at+half+3 <= next {
				tick.Label = t.Text
				next = at - half
			}
			ticks = append(ticks, tick)
		}
		slices.Reverse(ticks)
		return ticks
	})
}

// endings writes the names of the lines at their ends, one below the other.
type endings []Series

// Plot writes the names.
func (e endings) Plot(c draw.Canvas, p *plot.Plot) {
	const apart = 14
	toX, toY := p.Transforms(&c)
	type ending struct {
		s      Series
		at     vg.Point
		spread vg.Length
	}
	var all []ending
	for _, s := range e {
		if n := len(s.Points); n > 0 {
			at := vg.Point{X: toX(s.Points[n-1].X), Y: toY(s.Points[n-1].Y)}
			all = append(all, ending{s, at, at.Y})
		}
	}
	slices.SortStableFunc(all, func(a, b ending) int { return cmp.Compare(b.at.Y, a.at.Y) })
	for i := range all {
		if i > 0 {
			all[i].spread = min(all[i].spread, all[i-1].spread-apart)
		}
	}
	// What was pushed below the axis pushes the others up.
	floor := c.Min.Y + 5
	for i := len(all) - 1; i >= 0; i-- {
		all[i].spread = max(all[i].spread, floor)
		floor = all[i].spread + apart
	}
	for _, one := range all {
		look := one.s.Look.line()
		x := c.Max.X + 12
		c.StrokeLine2(draw.LineStyle{Color: look.Color, Width: 0.6}, one.at.X+3, one.at.Y, x, one.spread)
		c.StrokeLine2(look, x, one.spread, x+11, one.spread)
		write(c, letters-1, roleText, x+15, one.spread, clip(one.s.Name, 14))
	}
}
