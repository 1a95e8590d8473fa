package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/reference"
	"nettoll/report/plot"
)

// loadAxes are the axes along which the offered load grows.
var loadAxes = []string{"rate", "bandwidth", "streams", "clients", "servers", "servers-clients", "processes"}

// underLoad draws latency over the achieved load, if a sweep offers several loads: the axis
// of the sweep is the offered load, which a network may not reach.
func underLoad(s analysis.Sweep, colours colours) []figure {
	if s.Matrix() || !slices.Contains(loadAxes, s.X.Name) {
		return nil
	}
	return []figure{loadCurve(s, record.LatencyP50, colours), loadCurve(s, record.LatencyP99, colours)}
}

// achieved returns the metric of the achieved load: transactions, or bits if there are none.
func achieved(s analysis.Sweep) (k record.Kind, ok bool) {
	for _, name := range []string{record.TransactionRate, record.Throughput} {
		if has(s, name) {
			return record.KindOf(name)
		}
	}
	return k, false
}

// loadCurve draws one metric over the load. There is no chart unless some network has it at two loads.
func loadCurve(s analysis.Sweep, metric string, colours colours) figure {
	load, ok := achieved(s)
	kind, known := record.KindOf(metric)
	if !ok || !known || !has(s, metric) {
		return figure{}
	}
	x, y := sweepScale(s, load), sweepScale(s, kind)
	out := figure{Title: capital(kind.Title) + " against load, " + y.unit, Hint: hint(kind)}
	words := []string{out.Title + ", by " + load.Title + " achieved, " + x.unit + ", " + out.Hint + "."}
	var all []plot.Series
	most := 0
	for _, l := range s.Lines {
		line := plot.Series{Look: colours[l.Network]}
		var values []string
		for _, p := range l.Points {
			did, counted := p.Row.Figure(load.Name)
			f, ok := p.Row.Figure(metric)
			if !ok || !counted {
				continue
			}
			line.Points = append(line.Points, plot.Point{X: extentOf(x, did.Summary), Y: extentOf(y, f.Summary)})
			out.draws.add(drawsCrosses, did.Summary.Level > 0 || f.Summary.Level > 0)
			values = append(values, said(y, f)+" at "+said(x, did))
		}
		most = max(most, len(values))
		if len(values) > 0 {
			all = append(all, line)
			key := plot.Key{Name: l.Network, Look: line.Look}
			if l.Native {
				key.Name += " (baseline)"
			}
			out.Keys = append(out.Keys, key)
			words = append(words, l.Network+": "+join(values)+".")
		}
	}
	if most < 2 {
		return figure{}
	}
	out.draws |= drawsLoads
	out.chart = plot.Load(all, capital(load.Title)+" achieved, "+x.unit, strings.Join(words, " "))
	return out
}

func extentOf(sc scale, m analysis.Summary) plot.Extent {
	b := valueBar(sc, m)
	return plot.Extent{Value: b.Value, Low: b.Low, High: b.High}
}

// sweepFigures draws lines over a numeric axis, groups of bars over any other, and a heatmap
// for each network over two axes.
func sweepFigures(s analysis.Sweep, colours colours) []figure {
	kinds := s.Kinds
	if len(kinds) == 0 {
		return nil
	}
	if s.Matrix() {
		return heatFigures(s, kinds[0])
	}
	if !s.X.Numeric {
		return clusterFigures(s, kinds, colours)
	}
	all := record.Each(kinds, func(k record.Kind) figure { return lineFigure(s, k, colours) })
	return drawn(append(all, underLoad(s, colours)...)...)
}

func lineFigure(s analysis.Sweep, k record.Kind, colours colours) figure {
	sc := sweepScale(s, k)
	out := figure{Title: unitTitle(k, sc), Hint: hint(k)}
	words := []string{out.Title + " by " + s.X.Title + ", " + out.Hint + "."}
	axis, log := axisPlaces(s.X.Ticks)
	var all []plot.Series
	for _, l := range s.Lines {
		line, apart := plot.Series{Name: l.Network, Look: colours[l.Network]}, false
		var values []string
		for _, p := range l.Points {
			f, ok := p.Row.Figure(k.Name)
			if !ok {
				apart = true
				continue
			}
			y := extentOf(sc, f.Summary)
			line.Points = append(line.Points, plot.Point{X: plot.Extent{Value: axis[p.X]}, Y: y, Apart: apart})
			apart = false
			out.draws.add(drawsBands, y.Low < y.High)
			values = append(values, said(sc, f)+" at "+labelOf(s, p))
		}
		if len(values) > 0 {
			all = append(all, line)
			words = append(words, l.Network+": "+join(values)+".")
		}
	}
	x := plot.Axis{Title: s.X.Title, Log: log}
	for i, t := range s.X.Ticks {
		x.Ticks = append(x.Ticks, plot.Tick{At: axis[i], Text: t.Label})
	}
	out.chart = plot.Sweep(all, x, strings.Join(words, " "))
	return out
}

// axisPlaces returns the places of ticks, and whether the scale is logarithmic. Values that
// grow by factors after a zero fit no scale; they are placed at equal distances.
func axisPlaces(ticks []analysis.Tick) (places []float64, log bool) {
	places = record.Each(ticks, func(t analysis.Tick) float64 { return t.Value })
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

// doubles reports whether values grow by factors rather than by steps.
func doubles(values []float64) bool {
	return len(values) > 2 && values[0] > 0 && values[len(values)-1]/values[0] >= 8
}

// heatFigures draws a matrix for each network with figures, in comparable colours.
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
		m := plot.Matrix{RowTitle: s.X.Title, ColumnTitle: s.Y.Title, Most: most, Rows: labels(s.X.Ticks), Columns: labels(s.Y.Ticks)}
		var words []string
		for x := range s.X.Ticks {
			var cells []plot.HeatCell
			for y := range s.Y.Ticks {
				cell := plot.HeatCell{}
				if row := pointAt(l, sweepColumn{x, y}); row != nil {
					cell.Text = "–"
					if f, ok := row.Figure(k.Name); ok {
						cell = plot.HeatCell{Text: sc.number(f.Summary.Estimate), Value: f.Summary.Estimate / sc.factor, Known: true}
						words = append(words, s.X.Ticks[x].Label+"×"+s.Y.Ticks[y].Label+" "+cell.Text)
					}
				}
				cells = append(cells, cell)
			}
			m.Cells = append(m.Cells, cells)
		}
		if len(words) > 0 {
			label := unitTitle(k, sc) + " over " + l.Network + ", " + s.X.Title + " by " + s.Y.Title + ": " + join(words)
			all = append(all, figure{Title: l.Network + ": " + unitTitle(k, sc), Hint: hint(k), chart: plot.Heat(m, label), draws: drawsShades})
		}
	}
	return all
}

func labels(ticks []analysis.Tick) []string {
	return record.Each(ticks, func(t analysis.Tick) string { return t.Label })
}

// clusterFigures draws networks over an axis that is not numeric, for example instances:
// absolute figures, shares of native, and the CPU use of both ends.
func clusterFigures(s analysis.Sweep, kinds []record.Kind, colours colours) []figure {
	var all []figure
	places := sweepColumns(s)
	type finder = func(analysis.Row) (analysis.Figure, bool)
	draw := func(title, hint string, reference, least float64, find finder, bar func(analysis.Figure) plot.Bar) {
		bars := func(place int) (bars []spokenBar) {
			for _, l := range s.Lines {
				row := pointAt(l, places[place])
				if row == nil {
					continue
				}
				if f, ok := find(*row); ok {
					b := bar(f)
					b.Name, b.Native, b.Look = l.Network, l.Native, colours[l.Network]
					bars = append(bars, spokenBar{Bar: b})
				}
			}
			return bars
		}
		out := figure{Title: title, Hint: hint}
		all = append(all, out.clustered(title+" by "+s.X.Title+", "+hint, spotNames(s), bars, reference, least))
	}
	compared := func(find finder) finder {
		return func(row analysis.Row) (analysis.Figure, bool) {
			f, ok := find(row)
			return f, ok && f.Ratio != nil
		}
	}
	for _, k := range kinds {
		sc := sweepScale(s, k)
		find := func(row analysis.Row) (analysis.Figure, bool) { return row.Figure(k.Name) }
		if k.Name == kinds[0].Name {
			share := func(f analysis.Figure) plot.Bar { return ratioBar(*f.Ratio) }
			draw(capital(k.Title)+", % of "+analysis.BaselineName(s.Cell), hint(k), 100, 0, compared(find), share)
		}
		draw(unitTitle(k, sc), hint(k), 0, 0, find, func(f analysis.Figure) plot.Bar { return valueBar(sc, f.Summary) })
	}
	for _, ends := range [][2]string{{analysis.CPUClientHost, reference.CPUClient}, {analysis.CPUServerHost, reference.CPUServer}} {
		for _, name := range ends { // the first of them that is known
			cost := func(row analysis.Row) (analysis.Figure, bool) { return row.Cost(name) }
			first, ok := s.First(cost)
			if !ok {
				continue
			}
			kind, sc := first.Kind, scaleFor(first.Kind, first.Estimate)
			draw(kind.Title+", "+sc.unit, hint(kind), 0, 0, cost, func(f analysis.Figure) plot.Bar { return valueBar(sc, f.Summary) })
			above := func(f analysis.Figure) plot.Bar { return aboveBar(*f.Ratio) }
			draw(kind.Title+" above "+analysis.BaselineName(s.Cell)+", %", hint(kind), 0, leastAbove, compared(cost), above)
			break
		}
	}
	return drawn(append(all, sweepLoads(s))...)
}
