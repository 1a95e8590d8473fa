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
func underLoad(s analysis.Sweep, looks looks) ([]figure, error) {
	if s.Matrix() || !slices.Contains(loadAxes, s.X.Name) {
		return nil, nil
	}
	var all []figure
	for _, metric := range []string{record.LatencyP50, record.LatencyP99} {
		f, err := loadCurve(s, metric, looks)
		if err != nil {
			return nil, err
		}
		if f.chart.Drawn() {
			all = append(all, f)
		}
	}
	return all, nil
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
func loadCurve(s analysis.Sweep, metric string, looks looks) (figure, error) {
	load, ok := achieved(s)
	kind, known := record.KindOf(metric)
	if !ok || !known || !has(s, metric) {
		return figure{}, nil
	}
	x, y := sweepScale(s, load), sweepScale(s, kind)
	out := figure{title: capital(kind.Title) + " against load, " + y.unit, hint: hint(kind)}
	words := []string{out.title + ", by " + load.Title + " achieved, " + x.unit + ", " + out.hint + "."}
	var all []plot.Loaded
	most := 0
	for _, l := range s.Lines {
		line := plot.Loaded{Look: looks[l.Network]}
		var values []string
		for _, at := range spots(s) {
			row := pointAt(l, at)
			if row == nil {
				continue
			}
			did, counted := row.Figure(load.Name)
			f, ok := row.Figure(metric)
			if !ok || !counted {
				continue
			}
			line.Points = append(line.Points, plot.Cross{X: extentOf(x, did.Summary), Y: extentOf(y, f.Summary)})
			out.draws.crosses = out.draws.crosses || did.Summary.Level > 0 || f.Summary.Level > 0
			values = append(values, said(y, f)+" at "+said(x, did))
		}
		most = max(most, len(values))
		if len(values) > 0 {
			all = append(all, line)
			key := plot.Key{Name: l.Network, Look: line.Look}
			if l.Native {
				key.Name += " (baseline)"
			}
			out.keys = append(out.keys, key)
			words = append(words, l.Network+": "+join(values)+".")
		}
	}
	if most < 2 {
		return figure{}, nil
	}
	out.draws.loads = true
	var err error
	out.chart, err = plot.Load(all, capital(load.Title)+" achieved, "+x.unit, strings.Join(words, " "))
	return out, err
}

func extentOf(sc scale, m analysis.Summary) plot.Extent {
	b := valueBar(sc, m)
	return plot.Extent{Value: b.Value, Low: b.Low, High: b.High}
}
