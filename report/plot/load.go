package plot

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Loaded is one network under several loads.
type Loaded struct {
	Look   Look
	Points []Cross // in the order of what was offered
}

// Cross is a point with intervals in both directions.
type Cross struct{ X, Y Extent }

// Extent is a value and its interval, whose ends are the value where there is none.
type Extent struct{ Value, Low, High float64 }

// factorsFrom is the ratio of the greatest to the least value from which an axis is logarithmic.
const factorsFrom = 10

// Load draws a line for each network over the load that it achieved, which may turn back where more was
// offered. Each axis begins at zero, or is logarithmic if its values are far apart.
func Load(all []Loaded, xTitle, label string) Chart {
	all = slices.DeleteFunc(slices.Clone(all), func(l Loaded) bool { return len(l.Points) == 0 })
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
		addLoad(p, l.Look, each(l.Points, func(c Cross) Cross { return Cross{x.extent(c.X), y.extent(c.Y)} }))
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
func addLoad(p *plot.Plot, look Look, points []Cross) {
	var xys plotter.XYs
	for _, at := range points {
		xys = append(xys, plotter.XY{X: at.X.Value, Y: at.Y.Value})
		for _, arm := range []plotter.XYs{
			{{X: at.X.Low, Y: at.Y.Value}, {X: at.X.High, Y: at.Y.Value}},
			{{X: at.X.Value, Y: at.Y.Low}, {X: at.X.Value, Y: at.Y.High}},
		} {
			p.Add(&plotter.Line{XYs: arm, LineStyle: draw.LineStyle{Color: look.line().Color, Width: 0.6}})
		}
	}
	addLine(p, look, xys)
}

// scaleOf is the scale of an axis on which some values and their intervals stand.
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

// ticks are round values of the scale, at their places.
func (s scale) ticks() []plot.Tick {
	var all []plot.Tick
	if !s.factors {
		for _, t := range upTicks(0, s.greatest) {
			all = append(all, plot.Tick{Value: s.place(t.Value), Label: t.Label})
		}
		return all
	}
	marks := []float64{1, 2, 5}
	if s.greatest/s.least > 200 {
		marks = marks[:1]
	}
	every := max(1, math.Ceil(math.Log10(s.greatest/s.least)/6)) // decades
	for decade := math.Floor(math.Log10(s.least)); decade <= math.Log10(s.greatest); decade += every {
		for _, m := range marks {
			if v := m * math.Pow(10, decade); v >= s.least && v <= s.greatest {
				all = append(all, plot.Tick{Value: s.place(v), Label: strconv.FormatFloat(v, 'g', 6, 64)})
			}
		}
	}
	return all
}
