package plot

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"nettoll/record"
)

// Places of a forest plot, in units of its view box.
const (
	forestRow   = 24 * vg.Length(1)
	forestBelow = 22 * vg.Length(1) // names of the ticks
	forestLeft  = 112 * vg.Length(1)
	textRoom    = 126 * vg.Length(1) // for 14 letters
	mostText    = 24                 // letters, as of +133.8% +133.8…+133.9%
)

// mostChange is the largest factor, either way, that is drawn to scale.
const mostChange = 1000

// Forest draws how much each network differs from the baseline, with its interval, on a
// logarithmic scale: half as much is as far away as twice as much. The vertical line means
// no change, the shaded band counts as the same. The label describes the chart in words.
func Forest(all []Bar, margin float64, label string) Chart {
	if len(all) == 0 {
		return Chart{}
	}
	factor := func(v float64) float64 { return min(max(drawn(v), 1./mostChange), mostChange) }
	all = record.Each(all, func(c Bar) Bar {
		c.Value, c.Low, c.High = factor(c.Value), factor(c.Low), factor(c.High)
		return c
	})
	margin = min(drawn(margin), 0.9)
	right := textRoom // for the text next to the marks, in a wide font
	for _, c := range all {
		right = max(right, textRoom*vg.Length(len([]rune(clip(c.Text, mostText))))/14)
	}
	band := max(margin, 0.01)
	least, most := (1-band)*(1-band), (1+band)*(1+band)
	for _, c := range all {
		least, most = min(least, c.Value, c.Low), max(most, c.Value, c.High)
	}
	const room = 0.04
	from, to := math.Log(least), math.Log(most)
	from, to = from-room*(to-from), to+room*(to-from)
	shorter := shortened(record.Each(all, func(b Bar) string { return b.Name }), 17)
	height := forestRow*vg.Length(len(all)) + forestBelow
	return Chart{label: label, height: height, paint: func(c draw.Canvas) {
		toX := func(v float64) vg.Length {
			return c.Min.X + forestLeft + (width-forestLeft-right)*vg.Length((math.Log(v)-from)/(to-from))
		}
		top, bottom := c.Max.Y, c.Min.Y+forestBelow
		fill(c, roleGrid, toX(1-margin), bottom, toX(1+margin), top)
		for _, v := range changeTicks(least, most, toX) {
			x := toX(v)
			line := gridLine
			if v == 1 {
				line = draw.LineStyle{Color: roleBarNative.color(), Width: 1}
			}
			c.StrokeLine2(line, x, bottom, x, top)
			writeBelow(c, x, bottom-5, changeText(v))
		}
		for i, one := range all {
			middle := top - forestRow*(vg.Length(i)+0.5)
			write(c, letters, roleName, c.Min.X+forestLeft-7, middle, shorter(one.Name))
			if one.High > one.Low {
				c.StrokeLine2(draw.LineStyle{Color: one.Tone.role().color(), Width: 2.4}, toX(one.Low), middle, toX(one.High), middle)
			}
			const half = 4.5
			at := toX(one.Value)
			fill(c, one.Tone.role(), at-half, middle-half, at+half, middle+half)
			write(c, letters-1, roleText, c.Min.X+width-right+8, middle, clip(one.Text, mostText))
		}
	}}
}

// changes are the changes that an axis may label, as factors, outwards from no change to either side.
var changes = [][]float64{{1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 20, 100, 1000}, {0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25, 0.1, 0.01, 0.001}}

// changeTicks returns no change and the changes that fit next to it, each far enough from the one before.
func changeTicks(least, most float64, toX func(float64) vg.Length) []float64 {
	const apart, letter, usual = 8, 7, 36
	room := func(v float64) vg.Length { return letter * vg.Length(len([]rune(changeText(v)))) }
	ticks := []float64{1}
	for _, side := range changes {
		last := 1.0
		for _, v := range side {
			if away := toX(v) - toX(last); v >= least && v <= most && max(away, -away) >= max(usual, (room(v)+room(last))/2+apart) {
				ticks, last = append(ticks, v), v
			}
		}
	}
	return ticks
}

// changeText formats a factor as a change in percent, or from ten up as a factor.
func changeText(v float64) string {
	switch percent := math.Round(1000*(v-1)) / 10; {
	case v >= 10:
		return strconv.FormatFloat(v, 'g', 4, 64) + "×"
	case percent == 0:
		return "0"
	case percent > 0:
		return "+" + strconv.FormatFloat(percent, 'g', 4, 64) + "%"
	default:
		return strings.Replace(strconv.FormatFloat(percent, 'g', 4, 64), "-", "−", 1) + "%"
	}
}
