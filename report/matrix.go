package report

import (
	"strconv"

	"nettoll/analysis"
	"nettoll/record"
)

// mostFlat is how many cells of a matrix stand beside each other in one table of all
// networks; with more, each network has its own, of rows and columns.
const mostFlat = 12

// matrixTables are the tables of one metric, one for each network that has figures.
func matrixTables(s analysis.Sweep, k record.Kind, marks map[string][]int) []table {
	sc := sweepScale(s, k)
	var all []table
	for _, l := range s.Lines {
		sh := table{Title: l.Network + ": " + lower(unitTitle(k, sc)), Stub: []string{s.X.Title}, Columns: columnsOf(labels(s.YTicks)...)}
		sh.Note = "Down: " + s.X.Title + "; to the right: " + s.Y.Title
		if l.Native {
			sh.Note += "; beside each value its interval."
		} else {
			sh.Note += "; beside each value the difference from " + analysis.BaselineName(s.Cell) + "."
		}
		if m := marks[l.Network]; len(m) > 0 {
			sh.Note += " Doubts: " + numbers(m) + "."
		}
		known := false
		for x, tick := range s.XTicks {
			out := tableLine{Names: []string{tick.Label}}
			for y := range s.YTicks {
				shown := cell{}
				if row := pointAt(l, spot{x, y}); row != nil {
					shown = absentCell(row)
					if f, ok := row.Figure(k.Name); ok {
						known = true
						shown = figureCell(sc, f)
						if shows, _, c := compared(sc, f); c != nil {
							shown.Spread = shows
						}
					}
				}
				out.Cells = append(out.Cells, shown)
			}
			sh.Lines = append(sh.Lines, out)
		}
		if known {
			all = append(all, sh)
		}
	}
	return all
}

func numbers(all []int) string {
	var parts []string
	for _, n := range all {
		parts = append(parts, strconv.Itoa(n))
	}
	return join(parts)
}
