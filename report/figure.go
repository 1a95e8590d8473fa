package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode"

	"nettoll/analysis"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/reference"
	"nettoll/report/plot"
)

// figure is a chart with its title.
type figure struct {
	Title string
	Hint  string
	File  string // file name for saving it
	Keys  []plot.Key
	chart plot.Chart
	draws draws
}

// drawn returns the charts that are not empty.
func drawn(all ...figure) []figure {
	return slices.DeleteFunc(all, func(f figure) bool { return !f.chart.Drawn() })
}

// SVG returns the chart as an element of a page.
func (f figure) SVG() (template.HTML, error) {
	svg, err := f.chart.Inline()
	return template.HTML(svg), err
}

// draws is a set of visible elements of charts that a caption explains.
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
	drawsParts
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
	intervals := plan.Ratio(level).String() + " intervals"
	add(drawsChanges, "a mark is the change against "+word)
	add(drawsLines, "the line through it is its "+strings.TrimSuffix(intervals, "s"))
	add(drawsChanges, "the shaded band counts as the same (within "+analysis.Percent(margin)+")")
	add(drawsRounds, "each line shows a network in each round, relative to its own estimate over all rounds, with its lowest and highest values to the right")
	add(drawsBehind, "the thin line behind it is "+word+" in the same rounds")
	add(drawsRounds, "all rows share one scale, and the shaded band is ±"+analysis.Percent(margin))
	switch d & (drawsBands | drawsWhiskers) {
	case drawsBands | drawsWhiskers:
		add(drawsBands, "bands and whiskers are "+intervals)
	default:
		add(drawsBands, "bands are "+intervals)
		add(drawsWhiskers, "whiskers are "+intervals)
	}
	add(drawsNative, "the dashed line is "+word)
	add(drawsSame, "grey as that of "+word+" means the same within "+analysis.Percent(margin))
	add(drawsUnknown, "pale means that the interval itself shows neither a difference from "+word+" nor that both are the same")
	add(drawsShades, "in heatmaps a stronger colour means a greater value")
	add(drawsLoads, "in charts against load, each point is above the achieved load, and a line joins the points of a network in the order of the offered load: a line that turns back achieved less when more was offered")
	add(drawsCrosses, "the arms of a point are "+intervals)
	add(drawsParts, "the parts of CPU time are estimated one by one, so their sum can differ from the figure in the table")
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

// leastAbove is the least length of the axis, in percent, so that tiny percentages do not fill a chart.
const leastAbove = 20

// aboveBar shows how much more a network needs than native; one that needs less has a bar of length 0.
func aboveBar(c analysis.Comparison) plot.Bar {
	above := func(ratio float64) float64 { return max(0, 100*(ratio-1)) }
	return barOf(plot.Bar{Text: change(c), Value: above(c.Value), Low: above(c.Low), High: above(c.High)}, c.Level)
}

func valueBar(sc scale, m analysis.Summary) plot.Bar {
	return barOf(plot.Bar{Text: sc.number(m.Estimate), Value: m.Estimate / sc.factor, Low: m.Low / sc.factor, High: m.High / sc.factor}, m.Level)
}

// spokenBar is a bar with its text in the description of its chart, if that is longer than the bar's own text.
type spokenBar struct {
	plot.Bar
	said string
}

// clustered draws groups of bars by their names, on one scale that reaches at least to
// least; a reference that is not 0 is marked. intro begins the description.
func (f figure) clustered(intro string, names []string, bars func(group int) []spokenBar, reference, least float64) figure {
	words := []string{intro + "."}
	var clusters []plot.Cluster
	for i, name := range names {
		cluster := plot.Cluster{Name: name}
		for _, b := range bars(i) {
			cluster.Bars = append(cluster.Bars, b.Bar)
			words = append(words, strings.TrimPrefix(name+", ", ", ")+b.Name+": "+cmp.Or(b.said, b.Text)+".")
			f.draws.add(drawsWhiskers, b.Low < b.High)
		}
		if len(cluster.Bars) > 0 {
			clusters = append(clusters, cluster)
		}
	}
	if len(clusters) > 0 {
		f.chart = plot.Clusters(clusters, reference, least, strings.Join(words, " "))
	}
	return f
}

// ratioBar is a share of the baseline, with the same sign as in tables if it is not different.
func ratioBar(c analysis.Comparison) plot.Bar {
	text := strings.TrimSpace(bareShare(c.Value) + " " + signs[c.Outcome])
	return barOf(plot.Bar{Text: text, Value: 100 * c.Value, Low: 100 * c.Low, High: 100 * c.High}, c.Level)
}

// barOf returns a bar with its interval, if there is one.
func barOf(b plot.Bar, level float64) plot.Bar {
	if level == 0 {
		b.Low, b.High = b.Value, b.Value
	}
	return b
}

// toneOf returns how strongly a figure's bar is drawn.
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

// said returns a figure in the words of a chart's description.
func said(sc scale, f analysis.Figure) string {
	text := sc.number(f.Summary.Estimate)
	if f.Summary.Level > 0 {
		text += " (" + spread(sc, f.Summary) + ")"
	}
	return text
}

// colours gives each network the same colour in every chart of a report.
type colours map[string]plot.Look

func newColours(res analysis.Result) colours {
	all := colours{}
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

// Chart is a chart of a report that can be written to its own file.
type Chart struct {
	Name  string // of a file, without its extension
	Title string
	SVG   func(io.Writer) error
	PNG   func(io.Writer) error
}

// Charts lists every chart of a report in the order of its page, for a light background.
func Charts(res analysis.Result) (all []Chart) {
	for _, v := range newDocument(res).views() {
		for _, f := range slices.Concat(v.Charts.Figures, v.Rounds.Figures) {
			all = append(all, newChartFile(v.Title, f))
		}
	}
	return all
}

func newChartFile(where string, f figure) Chart {
	title := where + ". " + f.Title
	if f.Hint != "" {
		title += " (" + f.Hint + ")"
	}
	chart := f.chart.WithKeys(f.Keys)
	return Chart{
		Name: f.File, Title: title,
		SVG: func(w io.Writer) error { return chart.WriteSVG(w, Printable(title)) },
		PNG: func(w io.Writer) error { return chart.WritePNG(w, Printable(title)) },
	}
}

// chartName returns a name for a chart's file that none of names is, and adds it to these.
func chartName(where, title string, names map[string]int) string {
	place, own := fileName(where), fileName(title)
	place = place[:min(len(place), max(0, longestFileName-len(own)-1))] // what the figure shows tells charts apart
	name := strings.Trim(strings.Trim(place, "-")+"-"+own, "-")
	free := name
	for names[free] > 0 {
		names[name]++
		free = fmt.Sprintf("%s-%d", name, names[name])
	}
	names[free]++
	return free
}

// fileName makes a short name of lower-case letters, digits and dashes. Microseconds become us.
func fileName(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(strings.ToLower(s), "µ", "u") {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	if len(name) > longestFileName {
		name = strings.Trim(name[:longestFileName], "-")
	}
	return cmp.Or(name, "chart")
}

const longestFileName = 100 // without what tells one chart from another of the same name, and the format

// loadParts are the parts of the machine's CPU time, in the order in which a bar shows them.
// Their colours differ in meaning from those of networks.
var loadParts = []struct {
	metric, name string
	look         plot.Look
}{
	{reference.CPUClient, "clients", plot.Look{Color: 1}},
	{reference.CPUServer, "servers", plot.Look{Color: 6}},
	{analysis.CPUDaemons, "daemons", plot.Look{Color: 2}},
	{analysis.CPUShared, "shared", plot.Look{Color: 0}},
}

// loadFigure draws how the CPU time of each network divides into parts, per GB or
// transaction of one workload, since networks that move less use less. names are those of
// the clusters; rows returns the networks of one cluster.
func loadFigure(c record.Cell, names []string, rows func(cluster int) []analysis.Row) figure {
	kind := analysis.CostKind(analysis.CPUMachine, c)
	unit := "per GB"
	if kind.Unit == "cpu-s" {
		unit = "per transaction"
	}
	sc := scaleFor(kind, 1)
	for i := range names {
		for _, row := range rows(i) {
			if f, ok := row.Cost(reference.CPUServer); ok && sc.factor == 1 {
				sc = scaleFor(kind, f.Summary.Estimate)
			}
		}
	}
	out := figure{Title: "Where the CPU time of " + c.Workload + " goes, " + strings.TrimSuffix(sc.unit, "/GB") + " " + unit, Hint: hint(kind)}
	shown := map[string]bool{}
	bars := func(cluster int) []spokenBar {
		return record.Found(rows(cluster), func(row analysis.Row) (spokenBar, bool) { return loadBar(sc, row, shown) })
	}
	out = out.clustered(out.Title+", "+out.Hint, names, bars, 0, 0)
	out.draws.add(drawsParts, out.chart.Drawn())
	for _, p := range loadParts {
		if shown[p.metric] {
			out.Keys = append(out.Keys, plot.Key{Name: p.name, Look: p.look})
		}
	}
	return out
}

// loadBar is the bar of one network, with the estimate of each part. ok is false unless every part is known,
// except for daemons, which a network need not have.
func loadBar(sc scale, row analysis.Row, shown map[string]bool) (b spokenBar, ok bool) {
	b.Name = networkName(row.Cell)
	var parts, metrics []string
	for _, p := range loadParts {
		f, known := row.Cost(p.metric)
		if !known && p.metric != analysis.CPUDaemons {
			return b, false
		}
		if !known {
			continue
		}
		metrics = append(metrics, p.metric)
		v := f.Summary.Estimate / sc.factor
		b.Value += v
		b.Parts = append(b.Parts, plot.Part{Value: v, Look: p.look})
		parts = append(parts, p.name+" "+sc.number(f.Summary.Estimate))
	}
	for _, metric := range metrics {
		shown[metric] = true
	}
	b.Text = sc.number(b.Value * sc.factor)
	b.Low, b.High = b.Value, b.Value
	b.said = b.Text + ", of which " + join(parts)
	return b, true
}

// loads returns the chart of one scenario of a group.
func (g group) loads(scenario int) figure {
	s := g.scenarios[scenario]
	return loadFigure(s.Cell, []string{""}, func(int) []analysis.Row { return s.Rows })
}

// sweepLoads returns the chart of a sweep.
func sweepLoads(s analysis.Sweep) figure {
	all := sweepColumns(s)
	return loadFigure(s.Cell, spotNames(s), func(i int) (rows []analysis.Row) {
		for _, l := range s.Lines {
			if row := pointAt(l, all[i]); row != nil {
				rows = append(rows, *row)
			}
		}
		return rows
	})
}
