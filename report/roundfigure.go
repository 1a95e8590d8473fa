package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/report/plot"
)

// fewestRounds is from how many rounds on there is a course to see.
const fewestRounds = 3

// overRounds draws, for each scenario of a group, the metric that its networks are ranked by, round by round.
func (g group) overRounds() []figure {
	var all []figure
	for i := range g.scenarios {
		if f := g.roundFigure(i); f.chart.Drawn() {
			all = append(all, f)
		}
	}
	return all
}

// roundFigure draws one scenario. Each network stands beside its own estimate, not beside the baseline: what
// disturbs a round is then seen at one height in all networks, however much they move.
func (g group) roundFigure(scenario int) figure {
	kind, ok := g.ranking(scenario)
	if !ok {
		return figure{}
	}
	out := figure{Title: capital(kind.Title) + " round by round", Hint: hint(kind)}
	words := []string{out.Title + ", least and most of each network beside its own estimate:"}
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
		words = append(words, fmt.Sprintf("%s %s in %s,", l.name, h.Text, countOf(len(points), "round")))
	}
	if most < fewestRounds {
		return figure{}
	}
	out.draws |= drawsRounds
	out.chart = plot.Rounds(all, g.res.Margin, strings.TrimSuffix(strings.Join(words, " "), ","))
	return out
}

// ranking is the metric that the networks of a scenario are ranked by: that of the first that has one.
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

// shares are the values of a row by round, each as a share of the row's estimate. There are none where that is
// nothing.
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

// endsOf are the least and the greatest share, as changes.
func endsOf(all []plot.Visit) string {
	by := func(a, b plot.Visit) int { return cmp.Compare(a.Share, b.Share) }
	return bounds(analysis.Comparison{Value: 1, Interval: analysis.Interval{Low: slices.MinFunc(all, by).Share, High: slices.MaxFunc(all, by).Share, Level: 1}})
}
