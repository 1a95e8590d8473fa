package report

import (
	"html/template"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
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

// caption explains the elements that occur in a set of charts.
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

func unitTitle(k record.Kind, sc scale) string {
	if sc.unit == "" {
		return capital(k.Title)
	}
	return capital(k.Title) + ", " + sc.unit
}

// leastAbove is the least length of the axis, so that tiny percentages do not fill a chart.
const leastAbove = 20

// aboveBar is how much more a network takes than native; one that takes less has a bar of length 0.
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

// said is a figure as the description of a chart says it.
func said(sc scale, f analysis.Figure) string {
	text := sc.number(f.Summary.Estimate)
	if f.Summary.Level > 0 {
		text += " (" + spread(sc, f.Summary) + ")"
	}
	return text
}

// looks gives each network the same colour in every chart of a report.
type looks map[string]plot.Look

func newLooks(res analysis.Result) looks {
	all := looks{}
	others := 0
	add := func(name string, native bool) {
		if _, known := all[name]; known || name == "" {
			return
		}
		all[name] = plot.LookOf(others, native)
		if !native {
			others++
		}
	}
	for _, row := range res.Rows() {
		add(networkName(row.Cell), row.Native)
	}
	for _, s := range res.Sweeps {
		for _, l := range s.Lines {
			add(l.Network, l.Native)
		}
	}
	return all
}
