package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// table has a line for each network, or for whatever it is about, and figures to the right.
type table struct {
	Title   string
	Note    string   // below the title
	Stub    []string // headings of the columns that name a line
	Columns []tableColumn
	Lines   []tableLine
	Folded  bool // on a page, shown only when asked for
	long    bool // too much for a terminal, where another table says the most of it
	blank   cell // of a new line
	results bool // columns have units and stand beside a baseline; a narrow terminal drops parts of them
}

type tableColumn struct {
	Title string
	// Of results:
	metric     string
	short      string // title where there is little room
	Unit, Hint string
	Baseline   string // empty where nothing is compared
	shortBase  string
}

type tableLine struct {
	Names  []string // the first is its heading; what begins with a space belongs to the line above
	Marks  []int    // doubts
	Native bool
	Cells  []cell
}

// cell is a value and, fainter, what belongs to it.
type cell struct {
	Value, Spread string
	Class         string // worse, better, same, unknown or absent
	Key           string // for sorting
	Marks         []int  // doubts

	// What a result is beside the baseline.
	Change, Ends string
	against      *analysis.Comparison
}

const absent = "absent"

// columnsOf are columns that have nothing but titles.
func columnsOf(titles ...string) (all []tableColumn) {
	for _, t := range titles {
		all = append(all, tableColumn{Title: t})
	}
	return all
}

// line finds the line of a name, or adds one with a blank cell for each column.
func (t *table) line(names ...string) *tableLine {
	for i := range t.Lines {
		if t.Lines[i].Names[0] == names[0] {
			return &t.Lines[i]
		}
	}
	t.Lines = append(t.Lines, tableLine{Names: names, Cells: slices.Repeat([]cell{t.blank}, len(t.Columns))})
	return &t.Lines[len(t.Lines)-1]
}

// classOf names what a comparison shows for a style sheet.
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

// once are the cells of a line, where what is the same in all of them instead of figures is said only once.
func (l tableLine) once() []cell {
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

// comparedCell is what a figure shows beside the baseline; ok is false where there is none.
func comparedCell(s scale, f analysis.Figure) (shown cell, ok bool) {
	shows, ends, c := compared(s, f)
	if c == nil {
		return cell{}, false
	}
	return cell{Value: shows, Spread: ends, Class: classOf(*c)}, true
}

func absentCell(row *analysis.Row) cell { return cell{Value: absentText(row), Class: absent} }

// absentText is shown where there is no figure.
func absentText(row *analysis.Row) string {
	if row == nil || row.Status == record.OK {
		return "–"
	}
	return string(row.Status)
}
