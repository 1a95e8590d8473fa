package report

import (
	"html/template"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/reference"
	"nettoll/report/plot"
)

// figure is a chart with its title.
type figure struct {
	Title string
	Hint  string
	File  string // what it is called when it is saved
	Keys  []plot.Key
	chart plot.Chart
	draws draws
}

// SVG is the chart as an element of a page.
func (f figure) SVG() (template.HTML, error) {
	svg, err := f.chart.Inline()
	return template.HTML(svg), err
}

// draws are the things to be seen in charts that a caption explains.
type draws uint

const (
	drawsWhiskers draws = 1 << iota
	drawsBands
	drawsNative
	drawsSame
	drawsUnknown
	drawsShades
	drawsChanges
	drawsLines
	drawsRounds
	drawsBehind
	drawsLoads
	drawsCrosses
)

func (d *draws) add(what draws, when bool) {
	if when {
		*d |= what
	}
}

// caption explains what is drawn in some charts, and nothing that is not.
func caption(all []figure, word string, level, margin float64) string {
	var d draws
	for _, f := range all {
		d |= f.draws
	}
	var parts phrases
	add := func(when draws, text string) { parts.add(d&when != 0, text) }
	intervals := strconv.FormatFloat(100*level, 'g', 4, 64) + "% intervals"
	add(drawsChanges, "a mark is the change against "+word)
	add(drawsLines, "the line through it is its "+strings.TrimSuffix(intervals, "s"))
	add(drawsChanges, "the shaded band is what counts as the same, "+analysis.Percent(margin))
	add(drawsRounds, "each line is what a network had in each round, beside its own estimate over all of them, and to the right are the least and the most of it")
	add(drawsBehind, "the thin line behind it is "+word+" in the same rounds")
	add(drawsRounds, "all rows have one scale, and the shaded band is ±"+analysis.Percent(margin))
	switch d & (drawsBands | drawsWhiskers) {
	case drawsBands | drawsWhiskers:
		add(drawsBands, "bands and whiskers are "+intervals)
	default:
		add(drawsBands, "bands are "+intervals)
		add(drawsWhiskers, "whiskers are "+intervals)
	}
	add(drawsNative, "the dashed line is "+word)
	add(drawsSame, "a bar in the grey of "+word+" is the same within "+analysis.Percent(margin))
	add(drawsUnknown, "what is pale is not known to differ from "+word+", nor to be the same")
	add(drawsShades, "in heatmaps a stronger colour is a greater value")
	add(drawsLoads, "against load, each point stands over what was achieved, and a line joins a network's in the order of what was asked for: one that turns back did less when more was asked for")
	add(drawsCrosses, "its arms are "+intervals)
	if len(parts) == 0 {
		return ""
	}
	return capital(strings.Join(parts, "; ")) + "."
}

// sweepFigures draws lines over an axis that is a scale, groups of bars over one
// that is not, and a heatmap for each network over two.
func sweepFigures(s analysis.Sweep, looks looks) []figure {
	kinds := s.Kinds
	if len(kinds) == 0 {
		return nil
	}
	if s.Matrix() {
		return heatFigures(s, kinds[0])
	}
	if !s.X.Numeric {
		return clusterFigures(s, kinds, looks)
	}
	var all []figure
	for _, k := range kinds {
		if f := lineFigure(s, k, looks); f.chart.Drawn() {
			all = append(all, f)
		}
	}
	return append(all, underLoad(s, looks)...)
}

func unitTitle(k record.Kind, sc scale) string {
	if sc.unit == "" {
		return capital(k.Title)
	}
	return capital(k.Title) + ", " + sc.unit
}

func lineFigure(s analysis.Sweep, k record.Kind, looks looks) figure {
	sc := sweepScale(s, k)
	out := figure{Title: unitTitle(k, sc), Hint: hint(k)}
	words := []string{out.Title + " by " + s.X.Title + ", " + out.Hint + "."}
	axis, log := axisPlaces(s.XTicks)
	var all []plot.Series
	for _, l := range s.Lines {
		line := plot.Series{Name: l.Network, Look: looks[l.Network]}
		var values []string
		for _, p := range l.Points {
			f, ok := p.Row.Figure(k.Name)
			if !ok {
				continue
			}
			b := valueBar(sc, f.Summary)
			line.Points = append(line.Points, plot.Point{X: axis[p.X], Y: b.Value, Low: b.Low, High: b.High})
			out.draws.add(drawsBands, b.Low < b.High)
			values = append(values, said(sc, f)+" at "+labelOf(s, p))
		}
		if len(values) > 0 {
			all = append(all, line)
			words = append(words, l.Network+": "+join(values)+".")
		}
	}
	x := plot.Axis{Title: s.X.Title, Log: log}
	for i, t := range s.XTicks {
		x.Ticks = append(x.Ticks, plot.Tick{At: axis[i], Text: t.Label})
	}
	out.chart = plot.Sweep(all, x, strings.Join(words, " "))
	return out
}

// axisPlaces are where ticks stand, and whether on a scale of factors. Values that
// are factors apart but for a zero at the beginning have no scale; they stand in
// order.
func axisPlaces(ticks []analysis.Tick) (places []float64, log bool) {
	for _, t := range ticks {
		places = append(places, t.Value)
	}
	switch {
	case doubles(places):
		return places, true
	case len(places) > 0 && places[0] == 0 && doubles(places[1:]):
		for i := range places {
			places[i] = float64(i)
		}
	}
	return places, false
}

// doubles reports whether values are rather factors apart than steps.
func doubles(values []float64) bool {
	return len(values) > 2 && values[0] > 0 && values[len(values)-1]/values[0] >= 8
}

// heatFigures draws a matrix for each network that has figures, in colours that
// compare.
func heatFigures(s analysis.Sweep, k record.Kind) []figure {
	sc := sweepScale(s, k)
	most := 0.0
	for _, row := range s.Rows() {
		if f, ok := row.Figure(k.Name); ok {
			most = max(most, f.Estimate/sc.factor)
		}
	}
	var all []figure
	for _, l := range s.Lines {
		m := plot.Matrix{RowTitle: s.X.Title, ColumnTitle: s.Y.Title, Most: most, Rows: labels(s.XTicks), Columns: labels(s.YTicks)}
		words := []string{unitTitle(k, sc) + " over " + l.Network + ", " + s.X.Title + " by " + s.Y.Title + ":"}
		known := 0
		for x := range s.XTicks {
			var cells []plot.HeatCell
			for y := range s.YTicks {
				cell := plot.HeatCell{}
				if row := pointAt(l, spot{x, y}); row != nil {
					cell.Text = "–"
					if f, ok := row.Figure(k.Name); ok {
						cell = plot.HeatCell{Text: sc.number(f.Summary.Estimate), Value: f.Summary.Estimate / sc.factor, Known: true}
						words = append(words, s.XTicks[x].Label+"×"+s.YTicks[y].Label+" "+cell.Text+",")
						known++
					}
				}
				cells = append(cells, cell)
			}
			m.Cells = append(m.Cells, cells)
		}
		if known > 0 {
			label := strings.TrimSuffix(strings.Join(words, " "), ",")
			all = append(all, figure{Title: l.Network + ": " + unitTitle(k, sc), Hint: hint(k), chart: plot.Heat(m, label), draws: drawsShades})
		}
	}
	return all
}

func labels(ticks []analysis.Tick) []string {
	var all []string
	for _, t := range ticks {
		all = append(all, t.Label)
	}
	return all
}

// clusterFigures draws networks by something that is no scale, such as instances:
// in absolute figures, of native, and the CPU that both ends use.
func clusterFigures(s analysis.Sweep, kinds []record.Kind, looks looks) []figure {
	var all []figure
	draw := func(title, hint string, reference, least float64, bar func(row analysis.Row) (plot.Bar, bool)) {
		words := []string{title + " by " + s.X.Title + ", " + hint + "."}
		var clusters []plot.Cluster
		var drawn draws
		for _, at := range spots(s) {
			cluster := plot.Cluster{Name: at.label(s)}
			for _, l := range s.Lines {
				row := pointAt(l, at)
				if row == nil {
					continue
				}
				if b, ok := bar(*row); ok {
					b.Name, b.Native, b.Look = l.Network, l.Native, looks[l.Network]
					drawn.add(drawsWhiskers, b.Low < b.High)
					cluster.Bars = append(cluster.Bars, b)
					words = append(words, at.label(s)+", "+l.Network+": "+b.Text+".")
				}
			}
			if len(cluster.Bars) > 0 {
				clusters = append(clusters, cluster)
			}
		}
		if len(clusters) > 0 {
			all = append(all, figure{Title: title, Hint: hint, chart: plot.Clusters(clusters, reference, least, strings.Join(words, " ")), draws: drawn})
		}
	}
	for _, k := range kinds {
		sc := sweepScale(s, k)
		if k.Name == kinds[0].Name {
			draw(capital(k.Title)+", % of "+analysis.BaselineName(s.Cell), hint(k), 100, 0, func(row analysis.Row) (plot.Bar, bool) {
				f, ok := row.Figure(k.Name)
				if !ok || f.Ratio == nil {
					return plot.Bar{}, false
				}
				return ratioBar(*f.Ratio), true
			})
		}
		draw(unitTitle(k, sc), hint(k), 0, 0, func(row analysis.Row) (plot.Bar, bool) {
			f, ok := row.Figure(k.Name)
			return valueBar(sc, f.Summary), ok
		})
	}
	for _, ends := range [][2]string{{analysis.CPUClientHost, reference.CPUClient}, {analysis.CPUServerHost, reference.CPUServer}} {
		name := ends[0]
		cost := func(row analysis.Row) (analysis.Figure, bool) { return row.Cost(name) }
		first, ok := s.First(cost)
		if !ok {
			name = ends[1]
			if first, ok = s.First(cost); !ok {
				continue
			}
		}
		kind, sc := first.Kind, scaleFor(first.Kind, first.Estimate)
		draw(kind.Title+", "+sc.unit, hint(kind), 0, 0, func(row analysis.Row) (plot.Bar, bool) {
			f, ok := row.Cost(name)
			return valueBar(sc, f.Summary), ok
		})
		draw(kind.Title+" above "+analysis.BaselineName(s.Cell)+", %", hint(kind), 0, leastAbove, func(row analysis.Row) (plot.Bar, bool) {
			f, ok := row.Cost(name)
			if !ok || f.Ratio == nil {
				return plot.Bar{}, false
			}
			return aboveBar(*f.Ratio), true
		})
	}
	if f := sweepLoads(s); f.chart.Drawn() {
		all = append(all, f)
	}
	return all
}

// leastAbove keeps percents that are next to nothing from filling a chart.
const leastAbove = 20

// aboveBar is what a network takes more than native; what takes less has no bar.
func aboveBar(c analysis.Comparison) plot.Bar {
	above := func(ratio float64) float64 { return max(0, 100*(ratio-1)) }
	return barOf(plot.Bar{Text: change(c), Value: above(c.Value), Low: above(c.Low), High: above(c.High)}, c.Level)
}

func valueBar(sc scale, m analysis.Summary) plot.Bar {
	return barOf(plot.Bar{Text: sc.number(m.Estimate), Value: m.Estimate / sc.factor, Low: m.Low / sc.factor, High: m.High / sc.factor}, m.Level)
}

// ratioBar is a share of the baseline, with the sign that tables have for what is not different.
func ratioBar(c analysis.Comparison) plot.Bar {
	text := strings.TrimSpace(percentTo(c.Value, shareDecimals(c.Value)) + " " + signs[c.Outcome])
	return barOf(plot.Bar{Text: text, Value: 100 * c.Value, Low: 100 * c.Low, High: 100 * c.High}, c.Level)
}

// barOf is a bar with its interval, where there is one.
func barOf(b plot.Bar, level float64) plot.Bar {
	if level == 0 {
		b.Low, b.High = b.Value, b.Value
	}
	return b
}

// toneOf is how strongly a figure's bar is drawn.
func toneOf(f analysis.Figure) plot.Tone {
	c := f.Comparison()
	switch {
	case c == nil || c.Outcome == analysis.Different:
		return plot.Strong
	case c.Outcome == analysis.Same:
		return plot.LikeNative
	}
	return plot.Pale
}

// said is a figure in the words of a chart.
func said(sc scale, f analysis.Figure) string {
	text := sc.number(f.Summary.Estimate)
	if f.Summary.Level > 0 {
		text += " (" + spread(sc, f.Summary) + ")"
	}
	return text
}
