package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// table has a line for each network, or for another subject, and figures in columns.
type table struct {
	Title   string
	Note    string   // below the title
	Stub    []string // headings of the columns that name a line
	Columns []tableColumn
	Lines   []tableLine
	Folded  bool // on a page, shown only on request
	long    bool // left out of text and Markdown, where another part has the essentials
	blank   cell // cell of a new line
	results bool // columns have units and a comparison with a baseline; a narrow terminal drops parts of them
}

type tableColumn struct {
	Title string
	// For results only:
	metric     string
	short      string // title of a narrow column
	Unit, Hint string
	Baseline   string // empty if nothing is compared
	shortBase  string
}

type tableLine struct {
	Names  []string // the first is its heading; a line that begins with a space belongs to the line above
	Marks  []int    // doubts
	Native bool
	Cells  []cell
}

// cell is a value and, in a fainter style, an addition to it.
type cell struct {
	Value, Spread string
	Class         string // worse, better, same, unknown or absent
	Claimed       bool   // the change holds among all primary comparisons
	Key           string // for sorting
	Marks         []int  // doubts

	// A result compared with the baseline.
	Change, Ends string
	against      *analysis.Comparison
}

const absent = "absent"

// columnsOf returns columns that have only titles.
func columnsOf(titles ...string) []tableColumn {
	return record.Each(titles, func(t string) tableColumn { return tableColumn{Title: t} })
}

// line finds the line with a name, or adds one with a blank cell for each column.
func (t *table) line(names ...string) *tableLine {
	for i := range t.Lines {
		if t.Lines[i].Names[0] == names[0] {
			return &t.Lines[i]
		}
	}
	t.Lines = append(t.Lines, tableLine{Names: names, Cells: slices.Repeat([]cell{t.blank}, len(t.Columns))})
	return &t.Lines[len(t.Lines)-1]
}

// classOf names the result of a comparison for a style sheet.
func classOf(c analysis.Comparison) string {
	switch {
	case c.Outcome == analysis.Different:
		return string(c.Effect)
	case c.Outcome == analysis.Same:
		return "same"
	}
	return "unknown"
}

func (c cell) text() string { return strings.TrimSpace(c.Value + " " + c.Spread) }

// Once returns the cells of a line; if all show the same text instead of figures, only the first one has it.
func (l tableLine) Once() []cell {
	if slices.ContainsFunc(l.Cells, func(c cell) bool { return c.Class != absent || c.Value != l.Cells[0].Value }) {
		return l.Cells
	}
	once := make([]cell, len(l.Cells))
	copy(once, l.Cells[:min(1, len(l.Cells))])
	return once
}

func figureCell(s scale, f analysis.Figure) cell {
	return cell{Value: s.number(f.Estimate), Spread: spread(s, f.Summary), Key: sortKey(f.Estimate)}
}

// comparedCell shows the comparison of a figure with the baseline; ok is false if there is none.
func comparedCell(s scale, f analysis.Figure) (shown cell, ok bool) {
	shows, ends, c := compared(s, f)
	if c == nil {
		return cell{}, false
	}
	return cell{Value: shows, Spread: ends, Class: classOf(*c), Claimed: claimed(*c)}, true
}

// metricCell shows a metric of a row, or why it has none.
func metricCell(s scale, row *analysis.Row, metric string) (shown cell, f analysis.Figure, ok bool) {
	if row != nil {
		if f, ok = row.Figure(metric); ok {
			return figureCell(s, f), f, true
		}
	}
	return absentCell(row), f, false
}

func absentCell(row *analysis.Row) cell { return cell{Value: absentText(row), Class: absent} }

// absentText is shown in place of a missing figure.
func absentText(row *analysis.Row) string {
	if row == nil || row.Status == record.OK {
		return "–"
	}
	return rowStatus(*row)
}
