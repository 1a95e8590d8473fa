package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// sweepSections says what each sweep shows.
func sweepSections(res analysis.Result, looks looks, n *notes) []*section {
	var all []*section
	sweeps, inner := shownSweeps(res.Sweeps)
	titles, marks := sweepTitles(sweeps), sweepMarks(sweeps, n)
	for i, s := range sweeps {
		sec := &section{inner: inner[i], Title: titles[i], Meta: sweepMeta(s), Summary: sweepSummary(s, res), Missing: sweepAbsences(s)}
		for j, k := range s.Kinds {
			tables := []table{sweepTable(s, k, marks[i])}
			if s.Matrix() && len(spots(s)) > mostFlat {
				tables = matrixTables(s, k, marks[i])
			}
			for _, sh := range tables {
				sh.Folded = j > 0 || sec.inner
				sec.Tables = append(sec.Tables, sh)
			}
		}
		if len(sec.Tables) == 0 {
			sec.Remarks = append(sec.Remarks, "Nothing was measured.")
		}
		sec.figures = func() []figure { return sweepFigures(s, looks) }
		all = append(all, sec)
	}
	return all
}

// sweepTable is the table of one metric.
func sweepTable(s analysis.Sweep, k record.Kind, marks map[string][]int) table {
	columns := spots(s)
	sc := sweepScale(s, k)
	sh := table{Title: capital(k.Title), Stub: []string{"network"}}
	if sc.unit != "" {
		sh.Title += ", " + sc.unit
	}
	sh.Title += ", by " + axisTitle(s)
	for _, at := range columns {
		sh.Columns = append(sh.Columns, tableColumn{Title: at.label(s)})
	}
	for _, l := range s.Lines {
		values := tableLine{Names: []string{l.Network}, Marks: marks[l.Network], Native: l.Native}
		ratios := tableLine{Names: []string{"  vs " + analysis.BaselineName(s.Cell)}}
		compared := false
		for _, at := range columns {
			row := pointAt(l, at)
			value, ratio := cell{}, cell{}
			if row == nil {
				value = absentCell(nil)
			} else if f, ok := row.Figure(k.Name); !ok {
				value = absentCell(row)
			} else {
				value = figureCell(sc, f)
				if cell, ok := comparedCell(sc, f); ok {
					ratio, compared = cell, true
				}
			}
			values.Cells, ratios.Cells = append(values.Cells, value), append(ratios.Cells, ratio)
		}
		sh.Lines = append(sh.Lines, values)
		if compared {
			sh.Lines = append(sh.Lines, ratios)
		}
	}
	return sh
}

// sweepScale takes the unit from the middle of what was measured.
func sweepScale(s analysis.Sweep, k record.Kind) scale {
	var values []float64
	for _, row := range s.Rows() {
		if f, ok := row.Figure(k.Name); ok && f.Estimate > 0 {
			values = append(values, f.Estimate)
		}
	}
	if len(values) == 0 {
		return scaleFor(k, 0)
	}
	slices.Sort(values)
	return scaleFor(k, values[len(values)*2/3])
}

// sweepSummary says of each network how its distance from native changes, in the metric that it is
// ranked by: there are verdicts on no other.
func sweepSummary(s analysis.Sweep, res analysis.Result) []saying {
	primary, ok := s.First(analysis.Row.Primary)
	if !ok || s.Matrix() || len(s.Lines) > mostSentences+1 {
		return nil
	}
	var out []saying
	for _, l := range s.Lines {
		var first, last *analysis.Figure
		var from, to string
		for _, p := range l.Points {
			if f, ok := p.Row.Primary(); ok && f.Name == primary.Name && f.Ratio != nil && f.Ratio.Level > 0 {
				if first == nil {
					first, from = &f, labelOf(s, p)
				}
				last, to = &f, labelOf(s, p)
			}
		}
		if first == nil || from == to {
			continue
		}
		told, certain := toldShare(*first, s, res)
		then, certainThen := toldShare(*last, s, res)
		told += " at " + from
		if !certain && certainThen {
			told += uncertain(res)
		}
		told += ", and " + then + " at " + to
		if !certainThen {
			told += uncertain(res)
		}
		out = append(out, saying{l.Network, told + ".", nil})
	}
	return out
}

// toldShare compares a network with its baseline at one place of a sweep, in words, and says whether that
// holds among all primary comparisons.
func toldShare(f analysis.Figure, s analysis.Sweep, res analysis.Result) (text string, certain bool) {
	c, of, title := *f.Ratio, analysis.BaselineName(s.Cell), f.Kind.Title
	join := " of " // a share of it; a factor is times it
	if c.Low >= 2 {
		join = " "
	}
	switch {
	case c.Verdict == analysis.Same:
		return "has as much " + title + " as " + of + " within " + analysis.Percent(res.Margin) + " (" + bounds(c) + ")", true
	case c.Outcome != analysis.Different:
		return "is not known to have more or less " + title + " than " + of + " (" + bounds(c) + ")", true
	case c.Verdict != analysis.Different:
		return "may have " + shareRange(c) + join + of + "'s " + title, false
	}
	return "has " + shareRange(c) + join + of + "'s " + title, true
}

// spot is one column of a sweep's table: a value of the axis, or of both.
type spot struct{ x, y int }

// spots are the places of a sweep at which anything was planned.
func spots(s analysis.Sweep) []spot {
	var all []spot
	for _, l := range s.Lines {
		for _, p := range l.Points {
			if p.X < len(s.XTicks) && (p.Y < len(s.YTicks) || !s.Matrix()) {
				all = appendNew(all, spot{p.X, p.Y})
			}
		}
	}
	slices.SortFunc(all, func(a, b spot) int { return cmp.Or(a.x-b.x, a.y-b.y) })
	return all
}

func (at spot) label(s analysis.Sweep) string {
	if s.Matrix() {
		return s.XTicks[at.x].Label + "×" + s.YTicks[at.y].Label
	}
	return s.XTicks[at.x].Label
}

// labelOf is that of the place of a point.
func labelOf(s analysis.Sweep, p analysis.SweepPoint) string { return spot{p.X, p.Y}.label(s) }

func pointAt(l analysis.Line, at spot) *analysis.Row {
	for i := range l.Points {
		if p := &l.Points[i]; p.X == at.x && p.Y == at.y {
			return &p.Row
		}
	}
	return nil
}

func axisTitle(s analysis.Sweep) string {
	if s.Matrix() {
		return s.X.Title + " × " + s.Y.Title
	}
	return s.X.Title
}

// sweepTitles are the titles of sweeps, with just enough detail to tell them apart.
func sweepTitles(all []analysis.Sweep) []string {
	base := func(s analysis.Sweep) string {
		text := "by " + s.X.Title
		if s.Matrix() {
			text += " and " + s.Y.Title
		}
		return strings.TrimSpace(s.Cell.Workload + " " + text)
	}
	apart := []func(analysis.Sweep) string{
		func(s analysis.Sweep) string { return s.Cell.Tool },
		func(s analysis.Sweep) string { return crowd(s.Cell) },
		func(s analysis.Sweep) string {
			return lower(titleOf(record.Cell{Hosts: s.Cell.Hosts, Family: s.Cell.Family}, s.Namespaces))
		},
		func(s analysis.Sweep) string {
			return lower(titleOf(record.Cell{Placement: s.Cell.Placement, Underlay: s.Cell.Underlay}, false))
		},
		func(s analysis.Sweep) string { return join(conditions(s.Cell)) },
		func(s analysis.Sweep) string { return optionsText(s.Cell.Options) },
	}
	titles := make([]string, len(all))
	for i, s := range all {
		titles[i] = base(s)
		for _, part := range apart {
			differs := slices.ContainsFunc(all, func(other analysis.Sweep) bool {
				return base(other) == base(s) && part(other) != part(s)
			})
			if text := part(s); differs && text != "" {
				titles[i] += ", " + text
			}
		}
	}
	return titles
}

func sweepMeta(s analysis.Sweep) string {
	c := s.Cell
	text := titleOf(c, s.Namespaces)
	if c.Workload == "" {
		return text
	}
	if text != "" {
		text += "; "
	}
	return text + traffic(c)
}

// mostFlat is the largest number of cells of a matrix for which one table has all networks;
// with more, each network has a table of rows and columns.
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

// fewScenarios is the largest number of scenarios that keep tables of their own although
// a sweep of two steps shows them.
const fewScenarios = 8

// swept holds the scenarios that need no table since a sweep shows them, by the keys of their cells.
func swept(res analysis.Result) map[string]bool {
	all, long := map[string]bool{}, map[string]bool{}
	for _, s := range res.Sweeps {
		maps.Copy(all, keysOf(s))
		if s.Matrix() || len(s.XTicks) >= fewestTicks {
			maps.Copy(long, keysOf(s))
		}
	}
	if len(all) <= fewScenarios {
		return long
	}
	return all
}

// keysOf holds the scenarios of a sweep by the keys of their cells.
func keysOf(s analysis.Sweep) map[string]bool {
	keys := map[string]bool{}
	for _, row := range s.Rows() {
		keys[row.Cell.Scenario().Key()] = true
	}
	return keys
}

// apart are the groups of scenarios that no sweep shows.
func apart(res analysis.Result) []group {
	swept := swept(res)
	res.Scenarios = slices.DeleteFunc(slices.Clone(res.Scenarios), func(s analysis.Scenario) bool {
		return swept[s.Cell.Scenario().Key()]
	})
	return groups(res)
}

// has reports whether any point of a sweep has a metric.
func has(s analysis.Sweep, metric string) bool {
	_, ok := s.First(func(r analysis.Row) (analysis.Figure, bool) { return r.Figure(metric) })
	return ok
}

// standing says whether other sweeps show what one shows.
type standing int

const (
	own     standing = iota // it is a part of the report
	within                  // others show all of it, but it has charts of its own
	dropped                 // others show it, and it would say nothing more
)

// mostInner is the largest number of rows and columns of matrices that get charts of their own.
// Where little of a matrix was measured its rows were meant as sweeps, and count as such.
const (
	mostInner    = 12
	fewestTicks  = 3
	sparseMatrix = 0.75
)

// standings finds the sweeps whose scenarios are all in larger ones.
func standings(all []analysis.Sweep) []standing {
	keys := make([]map[string]bool, len(all))
	for i, s := range all {
		keys[i] = keysOf(s)
	}
	out := make([]standing, len(all))
	n := 0
	for i, s := range all {
		covered := map[string]bool{}
		for j, other := range all {
			sparse := other.Matrix() && float64(len(spots(other))) < sparseMatrix*float64(len(other.XTicks)*len(other.YTicks))
			if len(keys[j]) <= len(keys[i]) || sparse && len(s.XTicks) > fewestTicks {
				continue
			}
			maps.Copy(covered, keys[j])
		}
		switch {
		case slices.ContainsFunc(slices.Collect(maps.Keys(keys[i])), func(k string) bool { return !covered[k] }):
		case len(s.XTicks) < fewestTicks:
			out[i] = dropped
		default:
			out[i] = within
			n++
		}
	}
	for i := range out {
		if n > mostInner && out[i] == within {
			out[i] = dropped
		}
	}
	return out
}

// shownSweeps are the sweeps that add something to the others, and whether they are
// within others.
func shownSweeps(all []analysis.Sweep) (sweeps []analysis.Sweep, inner []bool) {
	for i, stands := range standings(all) {
		if stands != dropped {
			sweeps, inner = append(sweeps, all[i]), append(inner, stands == within)
		}
	}
	return sweeps, inner
}

// sweepAbsences says what is missing and why, each reason once for all networks and cells.
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
