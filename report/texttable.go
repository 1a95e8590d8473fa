package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// part is a piece of a table cell.
type part int

const (
	value       part = iota // estimate
	valueSpread             // its interval
	ratio                   // against native
	ratioSpread
	parts
)

// shortTitles are the headings of the table; all others are the metric's own.
var shortTitles = map[string]string{
	record.LatencyP50:        "p50",
	record.LatencyP99:        "p99",
	record.LatencyP99ByTime:  "p99 by time",
	record.LatencyP999:       "p99.9",
	record.LatencyAdded:      "added",
	record.CPUPerTransaction: "CPU/trans.",
	record.CPUPerGB:          "CPU/GB",
}

// piece is a part with the colour it is printed in.
type piece struct {
	text  string
	style style
}

// textTable is a group laid out in pieces, which are dropped until it fits.
type textTable struct {
	g      group
	names  []string
	cells  [][][parts]piece // by line and column
	status [][]string       // instead of figures
	shown  [][parts]bool    // by column
	color  bool
	tooFew bool
	bars   textBars // of no columns where there is no room
}

func newTextTable(g group, n *notes, color bool) *textTable {
	t := &textTable{g: g, color: color, shown: make([][parts]bool, len(g.columns))}
	for i, c := range g.columns {
		t.shown[i] = [parts]bool{value: true, valueSpread: true, ratio: g.compared(c), ratioSpread: g.compared(c)}
	}
	for _, l := range g.lines {
		name := printable(l.name)
		if marks := n.marks(l); len(marks) > 0 {
			name += " " + superscript(marks)
		}
		t.names = append(t.names, name)
		cells := make([][parts]piece, len(g.columns))
		status := make([]string, len(g.columns))
		for i, c := range g.columns {
			f, ok := l.figure(c)
			if !ok {
				status[i] = absentText(l.rows[c.scenario])
				continue
			}
			cells[i] = pieces(c, f)
			t.tooFew = t.tooFew || f.Summary.Level == 0
		}
		sayOnce(status)
		t.cells, t.status = append(t.cells, cells), append(t.status, status)
	}
	t.align()
	return t
}

// sayOnce leaves only the first of what is the same in every column.
func sayOnce(status []string) {
	if len(slices.Compact(slices.Clone(status))) != 1 || len(status) == 0 || status[0] == "" {
		return
	}
	for i := range status[1:] {
		status[1+i] = " "
	}
}

func absentText(row *analysis.Row) string {
	if row == nil || row.Status == record.OK {
		return "–"
	}
	return string(row.Status)
}

func pieces(c column, f analysis.Figure) [parts]piece {
	p := [parts]piece{value: {text: c.scale.number(f.Summary.Estimate)}, valueSpread: {spread(c.scale, f.Summary), dim}}
	shows, ends, compared := compared(c.scale, f)
	if compared != nil {
		p[ratio], p[ratioSpread] = piece{shows, styleOf(*compared)}, piece{ends, dim}
	}
	return p
}

// styleOf colours what is different by its own interval; bold is what holds among all comparisons.
func styleOf(c analysis.Comparison) style {
	s := dim
	switch c.Effect {
	case analysis.Better:
		s = green
	case analysis.Worse:
		s = red
	}
	if c.Primary && c.Verdict == analysis.Different {
		s = bold + s
	}
	return s
}

// align pads values behind the point, so that all points of a column stand
// below each other once the column is flushed right.
func (t *textTable) align() {
	for i := range t.g.columns {
		decimals := 0
		for _, cells := range t.cells {
			decimals = max(decimals, behindPoint(cells[i][value].text))
		}
		for _, cells := range t.cells {
			if v := &cells[i][value]; v.text != "" {
				v.text += strings.Repeat(" ", decimals-behindPoint(v.text))
			}
		}
	}
}

// behindPoint counts the point and what follows it.
func behindPoint(s string) int {
	if at := strings.IndexByte(s, '.'); at >= 0 {
		return len(s) - at
	}
	return 0
}

func (t *textTable) width() int { return t.grid().width() }

// grid holds the parts that are shown.
func (t *textTable) grid() grid {
	titles, units := []string{""}, []string{dim.paint(t.color, "network")}
	body := make([][]string, len(t.names))
	for j, name := range t.names {
		body[j] = []string{name}
	}
	for i, c := range t.g.columns {
		if !t.visible(i) {
			continue
		}
		title := t.g.shortHeading(c)
		heading, column := t.column(i)
		titles, units = append(titles, bold.paint(t.color, title)), append(units, dim.paint(t.color, heading))
		for j := range body {
			body[j] = append(body[j], column[j])
		}
	}
	if t.bars.columns > 0 {
		titles, units = append(titles, bold.paint(t.color, t.bars.title)), append(units, dim.paint(t.color, t.bars.heading()))
		for j := range body {
			body[j] = append(body[j], t.bars.bar(j, t.color))
		}
	}
	return grid{heading: [][]string{titles, units}, body: body}
}

// column joins the shown parts of each cell, each part as wide as its widest.
func (t *textTable) column(i int) (heading string, cells []string) {
	var widths [parts]int
	for p := range parts {
		for j := range t.cells {
			widths[p] = max(widths[p], displayWidth(t.cells[j][i][p].text))
		}
	}
	headings := [parts]string{value: t.g.columns[i].scale.unit, ratio: "vs " + t.g.shortBaseline()}
	heading = t.heading(i, headings, &widths)
	for j := range t.cells {
		if s := t.status[j][i]; s != "" {
			cells = append(cells, dim.paint(t.color, strings.TrimSpace(s)))
			continue
		}
		var b strings.Builder
		for p := range parts {
			if !t.shown[i][p] {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
				if p == ratio {
					b.WriteByte(' ')
				}
			}
			cell := t.cells[j][i][p]
			b.WriteString(strings.Repeat(" ", widths[p]-displayWidth(cell.text)))
			b.WriteString(cell.style.paint(t.color, cell.text))
		}
		cells = append(cells, b.String())
	}
	return heading, cells
}

// heading puts the unit over value and interval, and the baseline over ratio
// and interval, widening the first part of each where the words are longer.
func (t *textTable) heading(i int, words [parts]string, widths *[parts]int) string {
	var b strings.Builder
	for _, p := range []part{value, ratio} {
		width := 0
		switch spread := p + 1; {
		case t.shown[i][p] && t.shown[i][spread]:
			width = widths[p] + 1 + widths[spread]
		case t.shown[i][p]:
			width = widths[p]
		case t.shown[i][spread]:
			width = widths[spread]
		default:
			continue
		}
		if missing := displayWidth(words[p]) - width; missing > 0 {
			widths[p] += missing
			width += missing
		}
		if b.Len() > 0 {
			b.WriteString("  ")
		}
		b.WriteString(strings.Repeat(" ", width-displayWidth(words[p])) + words[p])
	}
	return b.String()
}
