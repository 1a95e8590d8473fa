package report

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"nettoll/analysis"
	"nettoll/internal/oneline"
	"nettoll/record"
)

// part is a piece of a table cell.
type part int

const (
	value       part = iota // estimate
	valueSpread             // its interval
	ratio                   // comparison with native
	ratioSpread
	parts
)

// piece is a part with the colour it is printed in.
type piece struct {
	text  string
	style style
}

// textTable is a table laid out in pieces, some of which are dropped until it fits.
type textTable struct {
	table
	names  [][]string       // by line, one per heading of names
	marks  []string         // by line, of its first name
	cells  [][][parts]piece // by line and column
	status [][]string       // in place of figures
	shown  [][parts]bool    // by column
	narrow bool             // some intervals are not shown
	color  bool
	bars   textBars // without columns if there is no room
}

func newTextTable(t table, color bool) *textTable {
	out := &textTable{table: t, color: color, shown: make([][parts]bool, len(t.Columns))}
	for _, l := range t.Lines {
		names, marks := record.Each(l.Names, Printable), ""
		if len(l.Marks) > 0 {
			marks = " " + superscript(l.Marks)
		}
		cells, status := make([][parts]piece, len(t.Columns)), make([]string, len(t.Columns))
		for i, c := range l.Once() {
			if c.Class == absent {
				status[i] = c.Value
				continue
			}
			cells[i] = pieces(c)
			for p, one := range cells[i] {
				out.shown[i][p] = out.shown[i][p] || one.text != ""
			}
		}
		out.names, out.marks = append(out.names, names), append(out.marks, marks)
		out.cells, out.status = append(out.cells, cells), append(out.status, status)
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
	p := [parts]piece{value: {text: Printable(c.Value)}, valueSpread: {c.Spread, dim}, ratio: {text: c.Change}, ratioSpread: {c.Ends, dim}}
	if len(c.Marks) > 0 {
		p[value].text += " " + superscript(c.Marks)
	}
	if c.against != nil {
		p[ratio].style = styleOf(*c.against)
	} else {
		p[value].style = map[string]style{"better": green, "worse": red, "same": dim, "unknown": dim}[c.Class]
		if c.Claimed {
			p[value].style = bold + p[value].style
		}
	}
	return p
}

// styleOf colours changes that are different by their own interval; bold ones hold among all comparisons.
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

// align pads values after the decimal point, so that the points of a column line up once the
// column is flushed right.
func (t *textTable) align() {
	for i := range t.Columns {
		decimals := record.Most(t.Lines, func(l tableLine) int { return behindPoint(l.Cells[i]) })
		for j, l := range t.Lines {
			if v := &t.cells[j][i][value]; v.text != "" && isNumber(l.Cells[i].Value) {
				v.text += strings.Repeat(" ", decimals-behindPoint(l.Cells[i]))
			}
		}
	}
}

// behindPoint counts the decimal point of a number and the digits after it.
func behindPoint(c cell) int {
	if at := strings.IndexByte(c.Value, '.'); at >= 0 && isNumber(c.Value) {
		return len(c.Value) - at
	}
	return 0
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "-0123456789.") == "" }

func (t *textTable) width() int { return t.grid().width() }

// grid lays out the visible parts.
func (t *textTable) grid() grid {
	var titles, units []string
	for _, name := range t.Stub {
		titles, units = append(titles, ""), append(units, dim.paint(t.color, name))
	}
	body := make([][]string, len(t.names))
	for j, names := range t.names {
		body[j] = slices.Clone(names)
		body[j][0] += t.marks[j]
	}
	for i, c := range t.Columns {
		if t.results && !t.visible(i) {
			continue
		}
		heading, column := t.column(i)
		if t.results {
			titles, units = append(titles, bold.paint(t.color, c.short)), append(units, dim.paint(t.color, heading))
		} else {
			units = append(units, bold.paint(t.color, Printable(c.Title)))
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

// column joins the visible parts of each cell, each part as wide as its widest.
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

// heading puts the unit over value and interval, and the baseline over ratio and interval,
// widening the first part of each if the words are longer.
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

// results writes a table whose columns are reduced part by part.
func (p *page) results(table table) {
	t := newTextTable(table, p.color)
	hidden := t.fit(p.width)
	p.narrow = p.narrow || t.narrow
	p.b.WriteString(t.grid().String())
	if len(hidden) > 0 {
		p.paragraph("  ", dim, "Not shown at this width: "+strings.Join(hidden, "; ")+".")
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
	// Pieces of the same length look like one table.
	pieces := (len(t.Columns) + most - 1) / most
	each := (len(t.Columns) + pieces - 1) / pieces
	for from := 0; from < len(t.Columns); {
		to := t.fitting(from, min(from+each, len(t.Columns)), p.width)
		piece, narrow := t.piece(from, to, p.width, p.color)
		p.narrow = p.narrow || narrow
		p.b.WriteString(piece.String())
		p.blank()
		from = to
	}
}

// between returns the table with some of its columns.
func (t table) between(from, to int) table {
	t.Columns, t.Lines = t.Columns[from:to], slices.Clone(t.Lines)
	for i, l := range t.Lines {
		t.Lines[i].Cells = l.Cells[from:to]
	}
	return t
}

// fitting returns the end of the columns from the given one that fit, at most to; it takes at least one.
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

// piece returns some of the columns, without intervals (narrow) and with shorter names if there is no room for them.
func (t table) piece(from, to, width int, color bool) (g grid, narrow bool) {
	out := newTextTable(t.between(from, to), color)
	if width <= 0 || out.width() <= width {
		return out.grid(), false
	}
	for i := range out.shown {
		narrow = narrow || out.shown[i][valueSpread]
		out.shown[i][valueSpread] = false
	}
	out.cutNames(out.width() - width)
	return out.grid(), narrow
}

// cutNames shortens the first names, so that their column is narrower by the number of columns over.
func (t *textTable) cutNames(over int) {
	if over <= 0 {
		return
	}
	longest := 0
	for j, names := range t.names {
		longest = max(longest, displayWidth(names[0]+t.marks[j]))
	}
	t.shortenNames(longest - over)
}

// shortenNames makes the first names and their marks, together, no wider than width. Marks stay whole, and names stay apart.
func (t *textTable) shortenNames(width int) {
	const least = 4
	room := width
	for j := range t.names {
		room = min(room, width-displayWidth(t.marks[j]))
	}
	shorter := oneline.Shortened(record.Each(t.names, func(names []string) string { return names[0] }), max(room, least))
	for j, names := range t.names {
		if room := max(width-displayWidth(t.marks[j]), least); displayWidth(names[0]) > room {
			names[0] = cut(shorter(names[0]), room) // letters can be wider than a column
		}
	}
}

// reduction removes a part of one metric.
type reduction struct {
	metric string
	part   part
}

// reductions is the order in which parts of a table are dropped on a narrow terminal. The
// part needed most for a decision is dropped last: the difference from native in throughput.
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

// each removes the same part from one metric after the other.
func each(p part, metrics ...string) []reduction {
	return record.Each(metrics, func(m string) reduction { return reduction{m, p} })
}

// fit drops parts until the table is no wider than width and returns the titles of columns
// that are no longer shown.
func (t *textTable) fit(width int) (hidden []string) {
	if width <= 0 {
		return nil
	}
	if t.fitBars(width) {
		return nil
	}
	if width < 60 && t.width() > width {
		t.shortenNames(width / 3)
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
			t.narrow = t.narrow || r.part == valueSpread || r.part == ratioSpread
			if before && !t.visible(i) {
				hidden = append(hidden, c.Title)
			}
		}
	}
	t.cutNames(t.width() - width)
	return hidden
}

// fitBars adds bars if there is room for them next to the whole table: they repeat its content.
func (t *textTable) fitBars(width int) (ok bool) {
	room := min(width-t.width()-len(gap), mostBarColumns)
	if room < fewestBarColumns {
		return false
	}
	t.bars, ok = newTextBars(t.table, room)
	return ok
}

// last reports whether a column is the only one left, or has only one part left.
func (t *textTable) last(column int) bool {
	left := 0
	for i, parts := range t.shown {
		if i != column && t.visible(i) {
			return false
		}
		for _, shown := range parts {
			if shown {
				left++
			}
		}
	}
	return left <= 1
}

func (t *textTable) visible(column int) bool { return t.shown[column] != [parts]bool{} }

// gap separates the columns of a grid.
const gap = "   "

// grid lays out columns: the first ones flush left, the others flush right, with a rule below the heading.
type grid struct {
	heading [][]string // lines of cells
	body    [][]string
	stub    int // columns that are flush left
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// displayWidth returns the number of terminal columns that a text fills.
func displayWidth(s string) int {
	return uniseg.StringWidth(escapes.ReplaceAllString(s, ""))
}

func (g grid) widths() []int {
	var widths []int
	for _, cells := range slices.Concat(g.heading, g.body) {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displayWidth(cell))
		}
	}
	return widths
}

func (g grid) width() int {
	total := -len(gap)
	for _, w := range g.widths() {
		total += len(gap) + w
	}
	return max(total, 0)
}

func (g grid) String() string {
	var b strings.Builder
	widths := g.widths()
	write := func(cells []string) {
		var l strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-displayWidth(cell))
			if i > 0 {
				l.WriteString(gap)
			}
			if i < g.stub {
				l.WriteString(cell + pad)
			} else {
				l.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	for _, cells := range g.heading {
		write(cells)
	}
	b.WriteString(strings.Repeat("─", g.width()) + "\n")
	for _, cells := range g.body {
		write(cells)
	}
	return b.String()
}

// cut shortens a text to a number of columns, with an ellipsis.
func cut(s string, width int) string {
	if displayWidth(s) <= width {
		return s
	}
	return strings.TrimRight(head(s, width-1), " ") + "…"
}

// head returns as much of the beginning of a text as fits, at least one character.
func head(s string, width int) string {
	end, state := 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end > 0 && w > width {
			break
		}
		end += len(cluster)
		width -= w
	}
	return s[:end]
}

// Numbers of terminal columns for bars, if there is room.
const (
	fewestBarColumns = 20
	mostBarColumns   = 32
)

// farthestBar is the largest factor, either way, that a bar shows to scale.
const farthestBar = 1000

// textBars shows the changes of one metric against the baseline as a forest plot in a column of a table: on a
// scale of factors, the interval is a line, the estimate a point on it, and the baseline a vertical stroke.
type textBars struct {
	title    string
	columns  int
	from, to float64                // logarithms of the ends of the scale
	changes  []*analysis.Comparison // by line; nil if nothing is compared
}

// newTextBars uses the first metric that is compared by ratios.
func newTextBars(t table, columns int) (b textBars, ok bool) {
	for at, c := range t.Columns {
		b = textBars{title: c.short, columns: columns, changes: make([]*analysis.Comparison, len(t.Lines))}
		for i, l := range t.Lines {
			if r := l.Cells[at].against; r != nil && !r.Minus && r.Value > 0 {
				b.changes[i] = r
				b.from, b.to = min(b.from, factorPlace(r.Low), factorPlace(r.Value)), max(b.to, factorPlace(r.High), factorPlace(r.Value))
			}
		}
		if b.to > b.from {
			return b, true
		}
	}
	return textBars{}, false
}

// factorPlace returns the position of a ratio on a logarithmic scale.
func factorPlace(ratio float64) float64 {
	if !(ratio > 0) {
		ratio = 0
	}
	return math.Log(min(max(ratio, 1./farthestBar), farthestBar))
}

func (b textBars) at(ratio float64) int {
	return int(math.Round((factorPlace(ratio) - b.from) / (b.to - b.from) * float64(b.columns-1)))
}

// heading labels the ends of the scale.
func (b textBars) heading() string {
	decimals := 0
	if b.to-b.from < 0.03 {
		decimals = 1
	}
	end := func(log float64) string {
		if v := math.Exp(log); v >= 10 {
			return factor(v)
		} else if text := signed(100*(v-1), decimals); text != "0" {
			return text + "%"
		}
		return "0"
	}
	left, right := end(b.from), end(b.to)
	return left + strings.Repeat(" ", max(b.columns-displayWidth(left)-displayWidth(right), 1)) + right
}

// bar draws one line, padded to the width of the column.
func (b textBars) bar(line int, color bool) string {
	cells := []rune(strings.Repeat(" ", b.columns))
	c, s := b.changes[line], dim
	if c != nil {
		s = styleOf(*c)
		if c.Level > 0 {
			for i := b.at(c.Low); i <= b.at(c.High); i++ {
				cells[i] = '─'
			}
		}
	}
	cells[b.at(1)] = '│'
	if c != nil {
		cells[b.at(c.Value)] = '●'
	}
	text := strings.TrimRight(string(cells), " ")
	return s.paint(color, text) + strings.Repeat(" ", b.columns-displayWidth(text))
}
