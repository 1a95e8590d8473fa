package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"nettoll/record"
)

// History is one network over the rounds of a run.
type History struct {
	Name   string
	Text   string // its range, as written next to it
	Native bool
	Points []Visit // by round, ascending
	Behind []Visit // points of the baseline, drawn faintly behind the network's own
}

// Visit is the figure of a network in one round, as a share of its figure over all rounds.
type Visit struct {
	Round int
	Share float64
}

// Places of the rounds, in units of the view box.
const (
	historyRow   = 32 * vg.Length(1)
	historyApart = 5 * vg.Length(1)
	historyBelow = 20 * vg.Length(1) // names of the ticks
	historyLeft  = 112 * vg.Length(1)
	historyRight = 86 * vg.Length(1)
)

// Rounds draws a row for each network: its figure in each round, relative to its estimate.
// All rows share one logarithmic scale, so that a disturbed round is at the same place in
// all of them, and less steady networks reach further. The width of the shaded band is the
// margin that counts as the same. The label describes the chart in words.
func Rounds(all []History, margin float64, label string) Chart {
	share := func(v Visit) Visit {
		return Visit{v.Round, min(max(drawn(v.Share), 1./mostChange), mostChange)}
	}
	all = record.Each(all, func(h History) History {
		h.Points, h.Behind = thinned(record.Each(h.Points, share)), thinned(record.Each(h.Behind, share))
		return h
	})
	margin = min(max(drawn(margin), 0.01), 0.5)
	low, high := 1-margin, 1+margin
	first, last := math.MaxInt, math.MinInt
	for _, h := range all {
		for _, v := range h.Points {
			low, high = min(low, v.Share), max(high, v.Share)
			first, last = min(first, v.Round), max(last, v.Round)
		}
	}
	if last < first {
		return Chart{}
	}
	from, to := math.Log(low), math.Log(high)
	shorter := shortened(record.Each(all, func(h History) string { return h.Name }), 17)
	height := historyRow*vg.Length(len(all)) + historyBelow
	return Chart{label: label, height: height, paint: func(c draw.Canvas) {
		toX := func(round int) vg.Length {
			if first == last {
				return c.Min.X + historyLeft
			}
			at := (float64(round) - float64(first)) / (float64(last) - float64(first))
			at = min(max(at, 0), 1) // as for y below
			return tenths(c.Min.X + historyLeft + (width-historyLeft-historyRight)*vg.Length(at))
		}
		for i, h := range all {
			top := c.Max.Y - historyRow*vg.Length(i)
			middle := top - historyRow/2
			toY := func(share float64) vg.Length {
				at := (math.Log(share) - from) / (to - from)
				at = min(max(at, 0), 1) // the baseline may reach further than all networks drawn themselves
				return tenths(top - historyRow + historyApart/2 + (historyRow-historyApart)*vg.Length(at))
			}
			fill(c, roleGrid, toX(first), toY(1-margin), toX(last), toY(1+margin))
			history(c, h.Behind, toX, toY, draw.LineStyle{Color: roleBarNative.color(), Width: 0.7})
			own := draw.LineStyle{Color: roleBar.color(), Width: 1.6}
			if h.Native {
				own.Color = roleBarNative.color()
			}
			history(c, h.Points, toX, toY, own)
			write(c, letters, roleName, c.Min.X+historyLeft-7, middle, shorter(h.Name))
			write(c, letters-1, roleText, c.Min.X+width-historyRight+8, middle, clip(h.Text, 16))
		}
		bottom := c.Min.Y + historyBelow - 5
		writeBelow(c, toX(first), bottom, "round "+strconv.Itoa(first))
		if last > first {
			writeBelow(c, toX(last), bottom, strconv.Itoa(last))
		}
	}}
}

// tenths rounds a position to visible precision, which keeps long lines short in a file.
func tenths(v vg.Length) vg.Length { return vg.Length(math.Round(10*v.Points()) / 10) }

// history draws a line through consecutive rounds. It is broken where rounds are missing,
// and a single round is a dash.
func history(c draw.Canvas, all []Visit, toX func(int) vg.Length, toY func(float64) vg.Length, s draw.LineStyle) {
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && (len(all) > mostVisits/2 || all[to].Round-all[to-1].Round <= 1) {
			to++
		}
		points := record.Each(all[from:to], func(v Visit) vg.Point { return vg.Point{X: toX(v.Round), Y: toY(v.Share)} })
		if len(points) == 1 {
			const half = 1.5
			at := points[0]
			points = []vg.Point{{X: at.X - half, Y: at.Y}, {X: at.X + half, Y: at.Y}}
		}
		c.StrokeLines(s, points)
		from = to
	}
}

// mostVisits is the largest number of rounds that are all drawn: there is no room for more.
const mostVisits = 200

// thinned keeps the least and the greatest value of each stretch, for as many stretches as
// there is room for, so that outliers stay visible.
func thinned(all []Visit) []Visit {
	if len(all) <= mostVisits {
		return all
	}
	const stretches = mostVisits / 2
	var out []Visit
	for i := range stretches {
		part := all[i*len(all)/stretches : (i+1)*len(all)/stretches]
		least, most := 0, 0
		for j, v := range part {
			if v.Share < part[least].Share {
				least = j
			}
			if v.Share > part[most].Share {
				most = j
			}
		}
		out = append(out, part[min(least, most)])
		if least != most {
			out = append(out, part[max(least, most)])
		}
	}
	return out
}
