package report

import (
	"strings"

	"nettoll/analysis"
)

// section is a part of a report about more than one scenario, before it is
// written in any format.
type section struct {
	title   string
	meta    string
	sayings []saying
	shown   [][]string // for each saying, the figures that show it
	figures []figure
	sheets  []sheet
	missing []absence
	remarks []string
	inner   bool // part of another section, which has its table
}

// sectionsOf are all sections of a report, in its order.
func sectionsOf(res analysis.Result, n *notes) ([]section, error) {
	all := replicationSections(res)
	looks := newLooks(res)
	sweeps, err := sweepSections(res, looks, n)
	if err != nil {
		return nil, err
	}
	all = append(all, sweeps...)
	all = append(all, priceSections(res, looks)...)
	all = append(all, agreementSections(res, n)...)
	return append(all, settlingSections(res)...), nil
}

// sheet is a table: networks down, whatever is varied to the right.
type sheet struct {
	title   string
	note    string   // below the title
	stub    []string // headings of the columns that name a line
	columns []string
	lines   []sheetLine
	folded  bool // on a page, shown only when asked for
	long    bool // too much for a terminal, where another sheet says the most of it
}

type sheetLine struct {
	names  []string
	marks  []int
	native bool
	cells  []sheetCell
}

// sheetCell is a value and, fainter, what belongs to it.
type sheetCell struct {
	value, spread string
	class         string // worse, better, same, unknown or absent
	key           string // for sorting
	marks         []int  // doubts
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

func (c sheetCell) style() style {
	switch c.class {
	case "better":
		return green
	case "worse":
		return red
	case "same", "unknown", "absent":
		return dim
	}
	return plain
}

func (c sheetCell) text() string { return strings.TrimSpace(c.value + " " + c.spread) }

// absentOnce says only once what is the same in all cells instead of figures.
func absentOnce(cells []sheetCell) []sheetCell {
	for _, c := range cells {
		if c.class != "absent" || c.value != cells[0].value {
			return cells
		}
	}
	once := make([]sheetCell, len(cells))
	copy(once, cells[:min(1, len(cells))])
	return once
}

func figureCell(s scale, f analysis.Figure) sheetCell {
	return sheetCell{value: s.number(f.Summary.Estimate), spread: spread(s, f.Summary), key: sortKey(f.Summary.Estimate)}
}

// comparedCell is what a figure shows beside the baseline; ok is false where there is none.
func comparedCell(s scale, f analysis.Figure) (cell sheetCell, ok bool) {
	shows, ends, c := compared(s, f)
	if c == nil {
		return sheetCell{}, false
	}
	return sheetCell{value: shows, spread: ends, class: classOf(*c)}, true
}

func absentCell(row *analysis.Row) sheetCell {
	return sheetCell{value: absentText(row), class: "absent"}
}
