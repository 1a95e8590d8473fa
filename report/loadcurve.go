package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/report/plot"
)

// loadAxes are the axes along which networks are offered more and more.
var loadAxes = []string{"rate", "bandwidth", "streams", "clients", "servers", "servers-clients", "processes"}

// underLoad draws latency over what networks achieved, where a sweep offers them several loads: the axis of the
// sweep has what was asked for, which a network need not have done.
func underLoad(s analysis.Sweep, looks looks) []figure {
	if s.Matrix() || !slices.Contains(loadAxes, s.X.Name) {
		return nil
	}
	var all []figure
	for _, metric := range []string{record.LatencyP50, record.LatencyP99} {
		if f := loadCurve(s, metric, looks); f.chart.Drawn() {
			all = append(all, f)
		}
	}
	return all
}

// achieved is the metric of what a sweep's networks did: transactions, or bits where there are none.
func achieved(s analysis.Sweep) (k record.Kind, ok bool) {
	for _, name := range []string{record.TransactionRate, record.Throughput} {
		if has(s, name) {
			return record.KindOf(name)
		}
	}
	return k, false
}

// loadCurve is one metric over the load. There is none where no network has it at two loads.
func loadCurve(s analysis.Sweep, metric string, looks looks) figure {
	load, ok := achieved(s)
	kind, known := record.KindOf(metric)
	if !ok || !known || !has(s, metric) {
		return figure{}
	}
	x, y := sweepScale(s, load), sweepScale(s, kind)
	out := figure{Title: capital(kind.Title) + " against load, " + y.unit, Hint: hint(kind)}
	words := []string{out.Title + ", by " + load.Title + " achieved, " + x.unit + ", " + out.Hint + "."}
	var all []plot.Loaded
	most := 0
	for _, l := range s.Lines {
		line := plot.Loaded{Look: looks[l.Network]}
		var values []string
		for _, p := range l.Points {
			did, counted := p.Row.Figure(load.Name)
			f, ok := p.Row.Figure(metric)
			if !ok || !counted {
				continue
			}
			line.Points = append(line.Points, plot.Cross{X: extentOf(x, did.Summary), Y: extentOf(y, f.Summary)})
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
