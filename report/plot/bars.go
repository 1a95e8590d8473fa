package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is one network in a bar chart.
type Bar struct {
	Name      string
	Text      string // the value, as it is written beside the bar
	Value     float64
	Low, High float64 // interval; equal to Value where there is none
	Native    bool
	Tone      Tone   // how it stands to native
	Look      Look   // of the network, in clusters
	Parts     []Part // that the bar is made of, in clusters; they add up to Value
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

// role is the colour of a tone.
func (t Tone) role() role {
	return [...]role{Strong: roleBar, LikeNative: roleBarNative, Pale: roleBarPale}[t]
}

// Bars draws horizontal bars that begin at zero, each with its interval, and a
// line down from native where there is one. The label says in words what the chart shows.
func Bars(bars []Bar, label string) Chart {
	if len(bars) == 0 {
		return Chart{}
	}
	bars = each(bars, Bar.drawn)
	p := empty()
	names := make([]string, len(bars))
	most := 0.0
	var references []float64
	for i, b := range bars {
		at := len(bars) - 1 - i
		names[at] = clip(b.Name, 17)
		most = max(most, b.Value, b.High)
		if b.Native {
			references = append(references, b.Value)
		}
		addBar(p, b, float64(at))
	}
	if most == 0 {
		most = 1
	}
	if len(references) == 1 {
		p.Add(upright{references[0]})
	}
	p.Add(values(bars))
	p.NominalY(names...)
	p.Y.Tick.Label = style(text.Style{YAlign: text.YCenter}, measured, roleName)
	p.X.Tick.Marker = plot.TickerFunc(fewTicks)
	// The room to the right is for the values.
	p.X.Min, p.X.Max = 0, most*1.22
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

// upright is a dashed line from top to bottom.
type upright struct{ x float64 }

// Plot draws the line.
func (u upright) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	x := toX(u.x)
	c.StrokeLine2(draw.LineStyle{Color: roleBarNative.color(), Width: 1, Dashes: dashes(3, 3)}, x, c.Min.Y, x, c.Max.Y)
}

// values writes each value to the right of its bar and interval.
type values []Bar

// Plot writes the values.
func (v values) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for i, b := range v {
		write(c, letters, roleText, toX(math.Max(b.Value, b.High))+5, toY(float64(len(v)-1-i)), clip(b.Text, 40))
	}
}

// fewTicks marks zero and at most four round values, for axes to the right.
func fewTicks(_, most float64) []plot.Tick { return ticksTo(most, 4.5) }

// upTicks marks one more, for axes upwards, where texts are not in each other's way.
func upTicks(_, most float64) []plot.Tick { return ticksTo(most, 5.5) }

// ticksTo marks multiples of a round step, of which so many parts fit below most. Where
// numbers are too small or too large for a step there are none.
func ticksTo(most, parts float64) []plot.Tick {
	step := math.Pow10(int(math.Floor(math.Log10(most))))
	for _, m := range []float64{0.2, 0.5, 1, 2, 5} {
		if most/(step*m) <= parts {
			step *= m
			break
		}
	}
	if !(step > 1e-300 && step < 1e300 && most/step <= parts) { // also where one is not a number
		return nil
	}
	written := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	if decimals := max(0, -int(math.Floor(math.Log10(step)))); decimals <= 6 && most < 1e9 { // as short as they are read
		written = func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	}
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= most; i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: written(v)})
	}
	return ticks
}
