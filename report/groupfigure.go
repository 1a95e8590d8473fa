package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/report/plot"
)

// figures returns, for each metric of a group, a chart of the changes of its networks
// against the baseline, or bars if there is none; and the latency distributions.
func (g group) figures(colours colours) []figure {
	var all []figure
	for _, c := range g.columns {
		f, ok := g.changes(c)
		if !ok {
			f = g.bars(c)
		}
		all = append(all, f)
	}
	for i := range g.scenarios {
		all = append(all, g.loads(i))
	}
	return drawn(append(all, g.curves(colours))...)
}

// changes draws the ratios of a metric to the baseline's, the best first. There is no chart
// if nothing was compared, or only as differences.
func (g group) changes(c column) (figure, bool) {
	kind := c.kind
	kind.Title = g.heading(c)
	out := figure{Title: capital(kind.Title) + " against " + g.baseline(), Hint: hint(c.kind)}
	var rows []spokenBar
	var apart []string // networks whose figure is only known to be so much more or less, such as of nothing
	for _, l := range g.lines {
		f, ok := l.figure(c)
		if !ok || l.native {
			continue
		}
		compared := f.Comparison()
		if compared == nil {
			continue
		}
		if compared.Minus {
			apart = append(apart, l.name)
			continue
		}
		r := *compared
		text := strings.TrimSpace(change(r) + " " + bounds(r))
		b := barOf(plot.Bar{Name: l.name, Text: text, Value: r.Value, Low: r.Low, High: r.High, Tone: toneOf(f)}, r.Level)
		rows = append(rows, spokenBar{b, l.name + " " + spoken(r, g.res.Margin)})
		out.draws |= drawsChanges
		out.draws.add(drawsLines, b.Low < b.High)
		out.draws.add(drawsSame, b.Tone == plot.LikeNative)
		out.draws.add(drawsUnknown, b.Tone == plot.Pale)
	}
	if len(rows) == 0 {
		return out, false
	}
	if len(apart) > 0 {
		out.Hint += "; without " + join(apart) + ", which " + oneOr(len(apart), "has", "have") + " no ratio"
	}
	better := 1.0
	if c.kind.Better == record.HigherIsBetter {
		better = -1
	}
	slices.SortStableFunc(rows, func(a, b spokenBar) int { return cmp.Compare(better*a.Value, better*b.Value) })
	all := record.Each(rows, func(r spokenBar) plot.Bar { return r.Bar })
	words := record.Each(rows, func(r spokenBar) string { return r.said })
	out.chart = plot.Forest(all, g.res.Margin, out.Title+", "+out.Hint+": "+join(words))
	return out, true
}

// spoken returns a change in words instead of signs.
func spoken(c analysis.Comparison, margin float64) string {
	ends := bounds(c)
	switch c.Outcome {
	case analysis.Same:
		return "is the same within " + analysis.Percent(margin) + " (" + ends + ")"
	case analysis.NotKnown:
		return "is not known (" + ends + ")"
	case analysis.Untested:
		return "is untested"
	}
	return change(c) + " (" + ends + ")"
}

func (g group) bars(c column) figure {
	kind := c.kind
	kind.Title = g.heading(c)
	out := figure{Title: unitTitle(kind, c.scale), Hint: hint(c.kind)}
	var bars []plot.Bar
	var words []string
	for _, l := range g.lines {
		f, ok := l.figure(c)
		if !ok {
			continue
		}
		b := valueBar(c.scale, f.Summary)
		b.Name, b.Native, b.Tone = l.name, l.native, toneOf(f)
		bars = append(bars, b)
		words = append(words, l.name+" "+said(c.scale, f))
		out.draws.add(drawsWhiskers, b.Low < b.High)
		out.draws.add(drawsNative, b.Native && len(g.natives()) == 1)
		out.draws.add(drawsSame, !b.Native && b.Tone == plot.LikeNative)
		out.draws.add(drawsUnknown, b.Tone == plot.Pale)
	}
	out.chart = plot.Bars(bars, out.Title+", "+out.Hint+": "+join(words))
	return out
}

// curves draws the latency distributions, if there are any.
func (g group) curves(colours colours) figure {
	out := figure{Title: "Latency by percentile, all trials merged", Hint: "lower is better, further right is rarer"}
	var curves []plot.Curve
	var names []string
	for _, l := range g.lines {
		for _, row := range l.planned() {
			if row.Latency == nil || row.Latency.TotalCount() < plot.FewestValues {
				continue
			}
			look := colours[l.name]
			words := record.Each([]float64{50, 99, 99.9}, func(p float64) string {
				at := float64(row.Latency.ValueAtPercentile(p)) / float64(time.Second)
				sc := scaleFor(record.Kind{Unit: "s"}, at)
				return fmt.Sprintf("p%v %s %s", p, sc.number(at), sc.unit)
			})
			names = append(names, l.name+" "+strings.Join(words, ", "))
			out.Keys = append(out.Keys, plot.Key{Name: l.name, Look: look})
			curves = append(curves, plot.Curve{Look: look, Histogram: row.Latency})
			break
		}
	}
	if len(curves) > 0 {
		out.chart = plot.Percentiles(curves, "Latency by percentile, all trials merged, one line for each of: "+join(names))
	}
	return out
}

// fewestRounds is the smallest number of rounds for which a chart over rounds is drawn.
const fewestRounds = 3

// overRounds draws, for each scenario of a group, the metric that its networks are ranked by, round by round.
func (g group) overRounds() []figure {
	var all []figure
	for i := range g.scenarios {
		all = append(all, g.roundFigure(i))
	}
	return drawn(all...)
}

// roundFigure draws one scenario. Each network is drawn relative to its own estimate, not to the
// baseline, so that a disturbed round looks the same in all networks, however much they move.
func (g group) roundFigure(scenario int) figure {
	kind, ok := g.ranking(scenario)
	if !ok {
		return figure{}
	}
	out := figure{Title: capital(kind.Title) + " round by round", Hint: hint(kind)}
	var words []string
	most := 0
	var all []plot.History
	for _, l := range g.lines {
		points := shares(l.rows[scenario], kind)
		if len(points) == 0 {
			continue
		}
		h := plot.History{Name: l.name, Native: l.native, Points: points, Text: endsOf(points)}
		if n, ok := g.nativeOf(l); ok && !l.native {
			h.Behind = shares(n.rows[scenario], kind)
			out.draws.add(drawsBehind, len(h.Behind) > 0)
		}
		all, most = append(all, h), max(most, len(points))
		words = append(words, fmt.Sprintf("%s %s in %s", l.name, h.Text, countOf(len(points), "round")))
	}
	if most < fewestRounds {
		return figure{}
	}
	out.draws |= drawsRounds
	out.chart = plot.Rounds(all, g.res.Margin, out.Title+", lowest and highest of each network relative to its own estimate: "+join(words))
	return out
}

// ranking returns the metric that the networks of a scenario are ranked by, from the first network that has one.
func (g group) ranking(scenario int) (record.Kind, bool) {
	for _, l := range g.lines {
		if row := l.rows[scenario]; row != nil {
			if f, ok := row.Primary(); ok {
				return f.Kind, true
			}
		}
	}
	return record.Kind{}, false
}

// shares returns the values of a row by round, each as a share of the row's estimate. There
// are none if the estimate is 0.
func shares(row *analysis.Row, kind record.Kind) []plot.Visit {
	if row == nil {
		return nil
	}
	f, ok := row.Figure(kind.Name)
	if !ok || f.Summary.Estimate <= 0 {
		return nil
	}
	var all []plot.Visit
	for _, p := range f.Points {
		if v := p.Value / f.Summary.Estimate; !math.IsInf(v, 0) {
			all = append(all, plot.Visit{Round: p.Round, Share: v})
		}
	}
	return all
}

// endsOf returns the least and the greatest share, as changes.
func endsOf(all []plot.Visit) string {
	by := func(a, b plot.Visit) int { return cmp.Compare(a.Share, b.Share) }
	return bounds(analysis.Comparison{Value: 1, Interval: analysis.Interval{Low: slices.MinFunc(all, by).Share, High: slices.MaxFunc(all, by).Share, Level: 1}})
}
