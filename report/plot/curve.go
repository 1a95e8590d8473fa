package plot

import (
	"math"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"nettoll/record"
)

// Curve is the latency distribution of one network.
type Curve struct {
	Look      Look
	Histogram *hdrhistogram.PackedHistogram // nanoseconds
}

// Look is the colour and the dashes in which a network, or a part of a bar, is drawn.
type Look struct {
	Color int    // number of the CSS variable --line-…
	Dash  string // as in stroke-dasharray; empty means a solid line
}

// line returns the look as a line style of the plot library.
func (l Look) line() draw.LineStyle {
	s := draw.LineStyle{Color: (roleLine + role(l.Color)).color(), Width: 2}
	if l.Color == 0 {
		s.Width = 2.6
	}
	for _, length := range strings.Fields(l.Dash) {
		v, err := strconv.ParseFloat(length, 64)
		if err == nil {
			s.Dashes = append(s.Dashes, vg.Length(v))
		}
	}
	return s
}

var dashing = []string{"", "6 3", "2 3", "8 3 2 3"}

// LookOf returns the look of the curve at an index among those that are not native: first
// all colours, then all again with dashes.
func LookOf(index int, native bool) Look {
	if native {
		return Look{}
	}
	return Look{Color: 1 + index%(Lines-1), Dash: dashing[index/(Lines-1)%len(dashing)]}
}

// FewestValues is the least number of latencies for a distribution.
const FewestValues = 100

// Percentiles draws one curve for each histogram: percentiles to the right, each further nine as wide as the
// one before, latency upwards in powers of ten. A curve ends where fewer than ten values are left above it.
func Percentiles(curves []Curve, label string) Chart {
	p := ruled()
	nines, low, high := 2.0, math.Inf(1), 0.0
	for _, curve := range curves {
		points := percentiles(curve.Histogram)
		if len(points) == 0 {
			continue
		}
		nines = max(nines, points[len(points)-1].X)
		low, high = min(low, points[0].Y), max(high, points[len(points)-1].Y)
		p.Add(&plotter.Line{XYs: points, LineStyle: curve.Look.line()})
	}
	if high == 0 {
		return Chart{}
	}
	p.X.Min, p.X.Max = 0, nines
	p.Y.Min, p.Y.Max = low/1.1, high*1.1
	p.Y.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.TickerFunc(nineTicks)
	p.Y.Tick.Marker = plot.TickerFunc(decadeTicks)
	return Chart{label: label, height: 230, paint: p.Draw}
}

func percentiles(h *hdrhistogram.PackedHistogram) plotter.XYs {
	if h == nil || h.TotalCount() < FewestValues {
		return nil
	}
	end := math.Log10(float64(h.TotalCount()) / 10)
	const steps = 120
	var points plotter.XYs
	for i := range steps + 1 {
		x := end * float64(i) / steps
		us := float64(h.ValueAtPercentile(100*(1-math.Pow(10, -x)))) / 1e3
		if i == 0 {
			us = float64(h.Min()) / 1e3
		}
		if us > 0 {
			points = append(points, plotter.XY{X: x, Y: us})
		}
	}
	return points
}

func nineTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for _, q := range []string{"0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999"} {
		v, _ := strconv.ParseFloat(q, 64)
		x := -math.Log10(1 - v/100)
		if x >= low && x <= high+1e-9 {
			ticks = append(ticks, plot.Tick{Value: x, Label: q})
		}
	}
	return ticks
}

func decadeTicks(low, high float64) []plot.Tick {
	return record.Each(roundFactors(low, high, 1), func(v float64) plot.Tick { return plot.Tick{Value: v, Label: microseconds(v)} })
}

// roundFactors returns round values for a logarithmic scale. every is the number of decades from one with
// values to the next.
func roundFactors(low, high, every float64) (all []float64) {
	marks := []float64{1, 2, 5}
	if high/low > 200 {
		marks = marks[:1]
	}
	for decade := math.Floor(math.Log10(low)); decade <= math.Ceil(math.Log10(high)); decade += every {
		for _, m := range marks {
			if v := m * math.Pow(10, decade); v >= low && v <= high {
				all = append(all, v)
			}
		}
	}
	return all
}

func microseconds(us float64) string {
	switch {
	case us >= 1e6:
		return strconv.FormatFloat(us/1e6, 'g', 3, 64) + " s"
	case us >= 1e3:
		return strconv.FormatFloat(us/1e3, 'g', 3, 64) + " ms"
	}
	return strconv.FormatFloat(us, 'g', 3, 64) + " µs"
}
