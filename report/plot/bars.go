package plot

import (
	"cmp"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"nettoll/record"
)

// Bar is one network in a bar chart, or in a forest plot.
type Bar struct {
	Name      string
	Text      string  // the value, as written next to the bar
	Value     float64 // in a forest plot, network ÷ baseline
	Low, High float64 // interval; equal to Value if there is none
	Native    bool
	Tone      Tone   // its comparison with native
	Look      Look   // of the network, in clusters
	Parts     []Part // pieces of the bar, in clusters; they add up to Value
}

// Tone is the strength of a bar's colour.
type Tone int

const (
	Strong     Tone = iota // differs from native
	LikeNative             // the same as native
	Pale                   // not known
)

// Part is a piece of a bar.
type Part struct {
	Value float64
	Look  Look
}

// role returns the colour of a tone.
func (t Tone) role() role {
	return [...]role{Strong: roleBar, LikeNative: roleBarNative, Pale: roleBarPale}[t]
}

// Bars draws horizontal bars that begin at zero, to its left if they are negative, each with its interval, and a vertical line
// at native if there is one. The label describes the chart in words.
func Bars(bars []Bar, label string) Chart {
	if len(bars) == 0 {
		return Chart{}
	}
	bars = record.Each(bars, Bar.drawn)
	p := empty()
	names := make([]string, len(bars))
	least, most := 0.0, 0.0
	shorter := shortened(record.Each(bars, func(b Bar) string { return b.Name }), 17)
	var references []float64
	for i, b := range bars {
		at := len(bars) - 1 - i
		names[at] = shorter(b.Name)
		least, most = min(least, b.Value, b.Low), max(most, b.Value, b.High)
		if b.Native {
			references = append(references, b.Value)
		}
		addBar(p, b, float64(at))
	}
	if least == 0 {
		most = cmp.Or(most, 1)
	}
	p.Add(painted(func(c draw.Canvas, p *plot.Plot) {
		toX, toY := p.Transforms(&c)
		if len(references) == 1 {
			x := toX(references[0])
			c.StrokeLine2(nativeLine, x, c.Min.Y, x, c.Max.Y)
		}
		for i, b := range bars { // each value to the right of its bar and interval
			write(c, letters, roleText, toX(math.Max(b.Value, b.High))+5, toY(float64(len(bars)-1-i)), clip(b.Text, 40))
		}
	}))
	p.NominalY(names...)
	p.Y.Tick.Label = style(text.Style{YAlign: text.YCenter}, measured, roleName)
	p.X.Tick.Marker = plot.TickerFunc(fewTicks)
	// The space to the right is for the values.
	p.X.Min, p.X.Max = least, most+(most-least)*0.22
	p.Y.Min, p.Y.Max = -0.6, float64(len(bars))-0.4
	return Chart{label: label, height: vg.Length(25*len(bars) + 24), paint: p.Draw}
}

func addBar(p *plot.Plot, b Bar, at float64) {
	chart := &plotter.BarChart{Values: plotter.Values{b.Value}, Width: 15, Horizontal: true, XMin: at, Color: b.Tone.role().color()}
	if b.Native {
		chart.Color = roleBarNative.color()
	}
	p.Add(chart)
	if b.High > b.Low {
		p.Add(&plotter.XErrorBars{
			XYs: plotter.XYs{{X: b.Value, Y: at}}, XErrors: plotter.XErrors{{Low: b.Value - b.Low, High: b.High - b.Value}},
			LineStyle: draw.LineStyle{Color: roleInterval.color(), Width: 1.3}, CapWidth: 6,
		})
	}
}

// painted draws into a plot.
type painted func(draw.Canvas, *plot.Plot)

// Plot implements plot.Plotter.
func (f painted) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// fewTicks marks zero and at most four round values, for horizontal axes.
func fewTicks(least, most float64) []plot.Tick { return ticksTo(least, most, 4.5) }

// upTicks marks one more, for vertical axes, where labels do not get in each other's way.
func upTicks(least, most float64) []plot.Tick { return ticksTo(least, most, 5.5) }

// ticksTo marks multiples of a round step, chosen so that at most the given number of parts
// fits between least, which is at most zero, and most. If numbers are too small or too large for a step there are none.
func ticksTo(least, most, parts float64) []plot.Tick {
	least = min(least, 0)
	whole := most - least
	step := math.Pow10(int(math.Floor(math.Log10(whole))))
	for _, m := range []float64{0.2, 0.5, 1, 2, 5} {
		if whole/(step*m) <= parts {
			step *= m
			break
		}
	}
	if !(step > 1e-300 && step < 1e300 && whole/step <= parts) { // also if a value is NaN
		return nil
	}
	written := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	if decimals := max(0, -int(math.Floor(math.Log10(step)))); decimals <= 6 && whole < 1e9 { // plain notation where it is short
		written = func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	}
	var ticks []plot.Tick
	for i := int(math.Ceil(least / step)); float64(i)*step <= most; i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: written(v)})
	}
	return ticks
}
