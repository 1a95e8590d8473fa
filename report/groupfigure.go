package report

import (
	"strings"

	"nettoll/report/plot"
)

// figures are bars for each metric of a group, and its latency distributions.
func (g group) figures(looks looks) ([]figure, error) {
	var all []figure
	for _, c := range g.columns {
		f, err := g.bars(c)
		if err != nil {
			return nil, err
		}
		if f.chart.Drawn() {
			all = append(all, f)
		}
	}
	for i := range g.scenarios {
		if f := g.loads(i); f.chart.Drawn() {
			all = append(all, f)
		}
	}
	f, err := g.curves(looks)
	if err == nil && f.chart.Drawn() {
		all = append(all, f)
	}
	return all, err
}

func (g group) bars(c column) (figure, error) {
	kind := c.kind
	kind.Title = g.heading(c)
	out := figure{title: unitTitle(kind, c.scale), hint: hint(c.kind)}
	var bars []plot.Bar
	words := []string{out.title + ", " + out.hint + ":"}
	for _, l := range g.lines {
		f, ok := l.figure(c)
		if !ok {
			continue
		}
		b := valueBar(c.scale, f.Summary)
		b.Name, b.Native, b.Tone = l.name, l.native, toneOf(f)
		bars = append(bars, b)
		words = append(words, l.name+" "+said(c.scale, f)+",")
		out.draws.whiskers = out.draws.whiskers || b.Low < b.High
		out.draws.native = out.draws.native || b.Native && len(g.natives()) == 1
		out.draws.same = out.draws.same || !b.Native && b.Tone == plot.LikeNative
		out.draws.unknown = out.draws.unknown || b.Tone == plot.Pale
	}
	var err error
	out.chart, err = plot.Bars(bars, strings.TrimSuffix(strings.Join(words, " "), ","))
	return out, err
}

// curves are the latency distributions, where there are any.
func (g group) curves(looks looks) (figure, error) {
	out := figure{title: "Latency by percentile, all trials merged", hint: "lower is better, further right is rarer"}
	var curves []plot.Curve
	var names []string
	for _, l := range g.lines {
		for _, row := range l.rows {
			if row == nil || row.Latency == nil || row.Latency.TotalCount() < plot.FewestValues {
				continue
			}
			look := looks[l.name]
			names = append(names, l.name)
			out.keys = append(out.keys, plot.Key{Name: l.name, Look: look})
			curves = append(curves, plot.Curve{Look: look, Histogram: row.Latency})
			break
		}
	}
	if len(curves) == 0 {
		return out, nil
	}
	var err error
	out.chart, err = plot.Percentiles(curves, "Latency by percentile, all trials merged, one line for each of: "+join(names))
	return out, err
}
