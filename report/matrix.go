package report

import (
	"strconv"

	"nettoll/analysis"
	"nettoll/record"
)

// mostFlat is how many cells of a matrix stand beside each other in one table of all
// networks; with more, each network has its own, of rows and columns.
const mostFlat = 12

// matrixSheets are the tables of one metric, one for each network that has figures.
func matrixSheets(s analysis.Sweep, k record.Kind, marks map[string][]int) []sheet {
	sc := sweepScale(s, k)
	var all []sheet
	for _, l := range s.Lines {
		sh := sheet{title: l.Network + ": " + lower(unitTitle(k, sc)), stub: []string{s.X.Title}, columns: labels(s.YTicks)}
		sh.note = "Down: " + s.X.Title + "; to the right: " + s.Y.Title
		if l.Native {
			sh.note += "; beside each value its interval."
		} else {
			sh.note += "; beside each value the difference from " + analysis.BaselineName(s.Cell) + "."
		}
		if m := marks[l.Network]; len(m) > 0 {
			sh.note += " Doubts: " + numbers(m) + "."
		}
		known := false
		for x, tick := range s.XTicks {
			out := sheetLine{names: []string{tick.Label}}
			for y := range s.YTicks {
				cell := sheetCell{}
				if row := pointAt(l, spot{x, y}); row != nil {
					cell = absentCell(row)
					if f, ok := row.Figure(k.Name); ok {
						known = true
						cell = figureCell(sc, f)
						if shows, _, c := compared(sc, f); c != nil {
							cell.spread = shows
						}
					}
				}
				out.cells = append(out.cells, cell)
			}
			sh.lines = append(sh.lines, out)
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
