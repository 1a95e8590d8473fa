package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
)

// sweepMarks numbers the doubts of each sweep's networks. What differs in its
// figures from cell to cell is one doubt, in the words of its first cell, unless tables of the cells' own have told all
// of it.
func sweepMarks(sweeps []analysis.Sweep, n *notes) []map[string][]int {
	first := map[string]analysis.Warning{}
	cells := map[string]map[string]bool{}
	told := map[string]bool{}
	var codes []string
	each := func(visit func(sweep int, network string, w analysis.Warning, cell string)) {
		for i, s := range sweeps {
			for l, row := range s.Rows() {
				for _, w := range row.Warnings {
					if !isOfTheRun(w) {
						visit(i, l.Network, w, row.Cell.Key())
					}
				}
			}
		}
	}
	each(func(_ int, _ string, w analysis.Warning, cell string) {
		if _, known := first[w.Code]; !known {
			first[w.Code], cells[w.Code], told[w.Code] = w, map[string]bool{}, true
			codes = append(codes, w.Code)
		}
		told[w.Code] = told[w.Code] && n.told[keyOf(w)]
		cells[w.Code][cell] = true
	})
	numbers := map[string]int{}
	for _, code := range codes {
		w := first[code]
		if told[code] {
			continue
		}
		if count := len(cells[code]); count > 1 {
			w.Text = strings.TrimRight(w.Text, ". ") + fmt.Sprintf("; it is much the same in %d cells in all", count)
		}
		numbers[code] = n.number(w)
	}
	marks := make([]map[string][]int, len(sweeps))
	for i := range marks {
		marks[i] = map[string][]int{}
	}
	each(func(i int, network string, w analysis.Warning, _ string) {
		k, known := numbers[w.Code]
		if !known {
			k = n.number(w)
		}
		if !slices.Contains(marks[i][network], k) {
			marks[i][network] = append(marks[i][network], k)
			slices.Sort(marks[i][network])
		}
	})
	return marks
}

// sweepAbsences says what is missing, the same reason once for all networks
// and cells.
func sweepAbsences(s analysis.Sweep) []absence {
	var all []absence
	counts := map[int]int{}
	planned := map[string]int{}
	for _, l := range s.Lines {
		planned[l.Network] = len(l.Points)
		for _, p := range l.Points {
			a, ok := absenceOf(p.Row)
			if !ok {
				continue
			}
			a.Network, a.counted = l.Network, ""
			at := slices.IndexFunc(all, func(b absence) bool { return b == a })
			if at < 0 {
				at = len(all)
				all = append(all, a)
			}
			counts[at]++
		}
	}
	for i := range all {
		if n := counts[i]; n < planned[all[i].Network] {
			all[i].counted = "in " + strconv.Itoa(n) + " of " + strconv.Itoa(planned[all[i].Network]) + " cells"
		}
	}
	return gathered(all)
}
