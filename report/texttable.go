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

// piece is a part with the colour it is printed in.
type piece struct {
	text  string
	style style
}

// textTable is a table laid out in pieces, which are dropped until it fits.
type textTable struct {
	table
	names  [][]string       // by line, as many as there are headings of names
	cells  [][][parts]piece // by line and column
	status [][]string       // instead of figures
	shown  [][parts]bool    // by column
	color  bool
	bars   textBars // of no columns where there is no room
}

func newTextTable(t table, color bool) *textTable {
	out := &textTable{table: t, color: color, shown: make([][parts]bool, len(t.Columns))}
	for _, l := range t.Lines {
		var names []string
		for i, name := range l.Names {
			name = printable(name)
			if i == 0 && len(l.Marks) > 0 {
				name += " " + superscript(l.Marks)
			}
			names = append(names, name)
		}
		cells, status := make([][parts]piece, len(t.Columns)), make([]string, len(t.Columns))
		for i, c := range l.once() {
			if c.Class == absent {
				status[i] = c.Value
				continue
			}
			cells[i] = pieces(c)
			for p, one := range cells[i] {
				out.shown[i][p] = out.shown[i][p] || one.text != ""
			}
		}
		out.names, out.cells, out.status = append(out.names, names), append(out.cells, cells), append(out.status, status)
	}
	if t.results {
		for i, c := range t.Columns {
			out.shown[i] = [parts]bool{value: true, valueSpread: true, ratio: c.Baseline != "", ratioSpread: c.Baseline != ""}
		}
	}
	out.align()
	return out
}

func pieces(c cell) [parts]piece {
	p := [parts]piece{value: {text: printable(c.Value)}, valueSpread: {c.Spread, dim}, ratio: {text: c.Change}, ratioSpread: {c.Ends, dim}}
	if len(c.Marks) > 0 {
		p[value].text += " " + superscript(c.Marks)
	}
	if c.against != nil {
		p[ratio].style = styleOf(*c.against)
	} else {
		p[value].style = map[string]style{"better": green, "worse": red, "same": dim, "unknown": dim}[c.Class]
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
	if claimed(c) {
		s = bold + s
	}
	return s
}

// align pads values behind the point, so that all points of a column stand
// below each other once the column is flushed right.
func (t *textTable) align() {
	for i := range t.Columns {
		decimals := 0
		for _, l := range t.Lines {
			decimals = max(decimals, behindPoint(l.Cells[i]))
		}
		for j, l := range t.Lines {
			if v := &t.cells[j][i][value]; v.text != "" && isNumber(l.Cells[i].Value) {
				v.text += strings.Repeat(" ", decimals-behindPoint(l.Cells[i]))
			}
		}
	}
}

// behindPoint counts the point of a number and what follows it.
func behindPoint(c cell) int {
	if at := strings.IndexByte(c.Value, '.'); at >= 0 && isNumber(c.Value) {
		return len(c.Value) - at
	}
	return 0
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "-0123456789.") == "" }

func (t *textTable) width() int { return t.grid().width() }

// grid holds the parts that are shown.
func (t *textTable) grid() grid {
	var titles, units []string
	for _, name := range t.Stub {
		titles, units = append(titles, ""), append(units, dim.paint(t.color, name))
	}
	body := make([][]string, len(t.names))
	for j, names := range t.names {
		body[j] = slices.Clone(names)
	}
	for i, c := range t.Columns {
		if t.results && !t.visible(i) {
			continue
		}
		heading, column := t.column(i)
		if t.results {
			titles, units = append(titles, bold.paint(t.color, c.short)), append(units, dim.paint(t.color, heading))
		} else {
			units = append(units, bold.paint(t.color, printable(c.Title)))
		}
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
	g := grid{heading: [][]string{titles, units}, body: body, stub: len(t.Stub)}
	if !t.results {
		g.heading = g.heading[1:]
	}
	return g
}

// column joins the shown parts of each cell, each part as wide as its widest.
func (t *textTable) column(i int) (heading string, cells []string) {
	var widths [parts]int
	for p := range parts {
		for j := range t.cells {
			widths[p] = max(widths[p], displayWidth(t.cells[j][i][p].text))
		}
	}
	headings := [parts]string{value: t.Columns[i].Unit, ratio: "vs " + t.Columns[i].shortBase}
	heading = t.heading(i, headings, &widths)
	for j := range t.cells {
		if s := t.status[j][i]; s != "" {
			cells = append(cells, dim.paint(t.color, s))
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

// results writes a table whose columns give way part by part.
func (p *page) results(table table) {
	t := newTextTable(table, p.color)
	hidden := t.fit(p.width)
	p.b.WriteString(t.grid().String())
	if len(hidden) > 0 {
		p.paragraph("  ", dim, "Too narrow for: "+strings.Join(hidden, ", ")+".")
	}
	if slices.ContainsFunc(t.Lines, func(l tableLine) bool {
		return slices.ContainsFunc(l.Cells, func(c cell) bool { return c.Spread == noSpread })
	}) {
		p.paragraph("  ", dim, noSpread+" stands where there are too few rounds for an interval.")
	}
}

// table writes a table, in as many pieces as its columns need.
func (p *page) table(t table) {
	if t.Title != "" {
		p.paragraph("", plain, t.Title)
	}
	p.paragraph("", dim, t.Note)
	if len(t.Columns) == 0 {
		return
	}
	most := 1
	for from := 0; from < len(t.Columns); {
		to := t.fitting(from, len(t.Columns), p.width)
		most = max(most, to-from)
		from = to
	}
	// Pieces of one length look like one table.
	pieces := (len(t.Columns) + most - 1) / most
	each := (len(t.Columns) + pieces - 1) / pieces
	for from := 0; from < len(t.Columns); {
		to := t.fitting(from, min(from+each, len(t.Columns)), p.width)
		p.b.WriteString(t.piece(from, to, p.width, p.color).String())
		p.blank()
		from = to
	}
}

// between are some of the columns.
func (t table) between(from, to int) table {
	t.Columns, t.Lines = t.Columns[from:to], slices.Clone(t.Lines)
	for i, l := range t.Lines {
		t.Lines[i].Cells = l.Cells[from:to]
	}
	return t
}

// fitting is up to where columns fit, from one on and up to another; at least one.
func (t table) fitting(from, to, width int) int {
	if width <= 0 {
		return to
	}
	fit := from + 1
	for fit < to && newTextTable(t.between(from, fit+1), false).width() <= width { // from below: a sweep can have thousands of columns
		fit++
	}
	return fit
}

// piece is some of the columns, without intervals and with shorter names where there is no room for them.
func (t table) piece(from, to, width int, color bool) grid {
	out := newTextTable(t.between(from, to), color)
	if width <= 0 || out.width() <= width {
		return out.grid()
	}
	for i := range out.shown {
		out.shown[i][valueSpread] = false
	}
	out.cutNames(out.width() - width)
	return out.grid()
}

// cutNames makes the first names so much shorter that the longest loses so many columns.
func (t *textTable) cutNames(over int) {
	if over <= 0 {
		return
	}
	longest := 0
	for _, names := range t.names {
		longest = max(longest, displayWidth(names[0]))
	}
	for _, names := range t.names {
		names[0] = cut(names[0], max(longest-over, 4))
	}
}

// reduction takes a part of one metric away.
type reduction struct {
	metric string
	part   part
}

// reductions is the order in which a table gives way when columns are few.
// What stays longest is what a decision needs: the difference from native in
// throughput.
var reductions = slices.Concat(
	each(valueSpread, record.Jitter, record.Loss, record.LatencyP999, record.LatencyP99ByTime, record.LatencyP99, record.CPUPerTransaction,
		record.CPUPerGB, record.LatencyAdded, record.LatencyP50, record.Throughput, record.PacketRate),
	each(ratioSpread, record.Jitter, record.Loss, record.LatencyP999, record.LatencyP99ByTime, record.LatencyP99, record.CPUPerTransaction, record.CPUPerGB,
		record.LatencyAdded),
	each(ratio, record.Loss, record.Jitter),
	each(value, record.CPUPerTransaction, record.CPUPerGB),
	each(ratio, record.LatencyP999, record.LatencyP99ByTime, record.LatencyP99, record.CPUPerTransaction, record.LatencyAdded),
	each(ratioSpread, record.LatencyP50),
	each(value, record.Jitter, record.LatencyP999, record.LatencyP99ByTime, record.LatencyP99),
	each(ratio, record.CPUPerGB),
	each(value, record.Loss, record.LatencyAdded),
	each(valueSpread, record.TransactionRate),
	each(value, record.LatencyP50),
	each(ratioSpread, record.Throughput),
	each(ratio, record.LatencyP50),
	each(value, record.Throughput),
	each(ratioSpread, record.PacketRate, record.TransactionRate),
	each(ratio, record.Throughput),
	each(value, record.PacketRate, record.TransactionRate),
)

// each takes the same part away from one metric after the other.
func each(p part, metrics ...string) []reduction {
	var all []reduction
	for _, m := range metrics {
		all = append(all, reduction{m, p})
	}
	return all
}

// fit drops parts until the table is no wider than width and names what is
// no longer shown.
func (t *textTable) fit(width int) (hidden []string) {
	if width <= 0 {
		return nil
	}
	if t.fitBars(width) {
		return nil
	}
	if width < 60 {
		for _, names := range t.names {
			names[0] = cut(names[0], max(width/3, 4))
		}
	}
	for _, r := range reductions {
		if t.width() <= width {
			break
		}
		for i, c := range t.Columns {
			if c.metric != r.metric || t.last(i) {
				continue
			}
			before := t.visible(i)
			t.shown[i][r.part] = false
			if before && !t.visible(i) {
				hidden = append(hidden, c.Title)
			}
		}
	}
	t.cutNames(t.width() - width)
	return hidden
}

// fitBars adds bars where there is room for them beside the whole table: they show once more what it says.
func (t *textTable) fitBars(width int) (ok bool) {
	room := min(width-t.width()-len(gap), mostBarColumns)
	if room < fewestBarColumns {
		return false
	}
	t.bars, ok = newTextBars(t.table, room)
	return ok
}

// last reports whether a column is the only one left, or all that is left of it is one part.
func (t *textTable) last(column int) bool {
	for i := range t.Columns {
		if i != column && t.visible(i) {
			return false
		}
	}
	left := 0
	for _, shown := range t.shown[column] {
		if shown {
			left++
		}
	}
	return left <= 1
}

func (t *textTable) visible(column int) bool { return t.shown[column] != [parts]bool{} }
