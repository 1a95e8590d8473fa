package plot

import (
	"cmp"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"nettoll/record"
)

// Cluster is a group of bars that belong together, for example all networks on one instance.
type Cluster struct {
	Name string
	Bars []Bar
}

// Clusters draws groups of horizontal bars, each bar in the colour of its network, on one scale
// that reaches at least to least. A reference that is not zero is marked by a dashed line.
func Clusters(all []Cluster, reference, least float64, label string) Chart {
	const (
		heading = 21
		bar     = 18
		apart   = 7
		below   = 20 // names of the ticks
		left    = 124
		right   = 46 // values
	)
	all = record.Each(all, func(c Cluster) Cluster { return Cluster{c.Name, record.Each(c.Bars, Bar.drawn)} })
	reference, least = drawn(reference), drawn(least)
	lowest, most := 0.0, max(reference, least)
	height := vg.Length(below)
	var names []string
	for _, group := range all {
		height += heading + bar*vg.Length(len(group.Bars)) + apart
		for _, b := range group.Bars {
			names = append(names, b.Name)
			lowest, most = min(lowest, b.Value, b.Low), max(most, b.Value, b.High)
		}
	}
	if len(all) == 0 {
		return Chart{}
	}
	if lowest == 0 {
		most = cmp.Or(most, 1)
	}
	most += 0.02 * (most - lowest)
	toX := func(c draw.Canvas, v float64) vg.Length {
		return c.Min.X + left + (width-left-right)*vg.Length(min((v-lowest)/(most-lowest), 1))
	}
	shorter := shortened(names, 18)
	return Chart{label: label, height: height, paint: func(c draw.Canvas) {
		for _, t := range fewTicks(lowest, most) {
			x := toX(c, t.Value)
			c.StrokeLine2(gridLine, x, c.Min.Y+below, x, c.Max.Y-heading+4)
			writeBelow(c, x, c.Min.Y+below-5, t.Label)
		}
		y := c.Max.Y
		for _, group := range all {
			write(c, letters, roleText, c.Min.X, y-heading/2, clip(group.Name, 44))
			y -= heading
			for _, b := range group.Bars {
				middle := y - bar/2
				write(c, letters-1, roleName, c.Min.X+left-7, middle, shorter(b.Name))
				if len(b.Parts) == 0 {
					clusterBar(c, b, toX(c, 0), toX(c, b.Value), middle)
				}
				from := 0.0
				for _, part := range b.Parts {
					clusterBar(c, Bar{Look: part.Look}, toX(c, from), toX(c, from+part.Value), middle)
					from += part.Value
				}
				if b.High > b.Low {
					whisker(c, toX(c, b.Low), toX(c, b.High), middle)
				}
				at := toX(c, math.Max(b.Value, b.High)) + 5
				if line := toX(c, reference); at < line+5 && at+vg.Length(7*len(b.Text)) > line-2 {
					at = line + 5
				}
				write(c, letters-1, roleText, at, middle, clip(b.Text, 40))
				y -= bar
			}
			y -= apart
		}
		if reference > 0 {
			x := toX(c, reference)
			c.StrokeLine2(nativeLine, x, c.Min.Y+below, x, c.Max.Y-heading+4)
		}
	}}
}

func clusterBar(c draw.Canvas, b Bar, from, to, middle vg.Length) {
	r := roleLine + role(b.Look.Color)
	if b.Native {
		r = roleBarNative
	}
	fill(c, r, min(from, to), middle-5.5, max(to, from, min(from, to)+0.5), middle+5.5)
}

func whisker(c draw.Canvas, low, high, middle vg.Length) {
	s := draw.LineStyle{Color: roleInterval.color(), Width: 1.2}
	c.StrokeLine2(s, low, middle, high, middle)
	c.StrokeLine2(s, low, middle-2.5, low, middle+2.5)
	c.StrokeLine2(s, high, middle-2.5, high, middle+2.5)
}
