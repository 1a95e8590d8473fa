package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// sweepSections describes the results of each sweep.
func sweepSections(res analysis.Result, colours colours, n *notes) []*section {
	var all []*section
	sweeps, inner := shownSweeps(res.Sweeps)
	sweeps = record.Each(sweeps, grouped)
	titles, marks := sweepTitles(sweeps), sweepMarks(sweeps, n)
	for i, s := range sweeps {
		sec := &section{inner: inner[i], Title: titles[i], Meta: sweepMeta(s), Summary: sweepSummary(s, res), Missing: sweepAbsences(s)}
		for j, k := range s.Kinds {
			tables := []table{sweepTable(s, k, marks[i])}
			shown := j == 0 || k.Name == record.CPUPerGB || k.Name == record.CPUPerTransaction || k.Name == record.Loss && lossy(s)
			if inMatrices(s) {
				tables, shown = matrixTables(s, k, marks[i]), j == 0
			}
			for _, sh := range tables {
				sh.Folded = !shown || sec.inner
				sec.Tables = append(sec.Tables, sh)
			}
		}
		if len(sec.Tables) == 0 {
			sec.Remarks = append(sec.Remarks, "Nothing was measured.")
		}
		sec.figures = func() []figure { return sweepFigures(s, colours) }
		all = append(all, sec)
	}
	return all
}

// lossy reports whether any network lost datagrams.
func lossy(s analysis.Sweep) bool {
	_, ok := s.First(func(r analysis.Row) (analysis.Figure, bool) {
		f, ok := r.Figure(record.Loss)
		return f, ok && f.Estimate > 0
	})
	return ok
}

// grouped returns a sweep whose ticks are for reading only: large counts are grouped as everywhere in text.
func grouped(s analysis.Sweep) analysis.Sweep {
	for _, axis := range []*analysis.Axis{&s.X, &s.Y} {
		axis.Ticks = record.Each(axis.Ticks, func(t analysis.Tick) analysis.Tick {
			if n, err := strconv.ParseUint(t.Label, 10, 64); err == nil {
				t.Label = count(n)
			}
			return t
		})
	}
	return s
}

// sweepTable is the table of one metric.
func sweepTable(s analysis.Sweep, k record.Kind, marks map[string][]int) table {
	sc := sweepScale(s, k)
	sh := table{Title: unitTitle(k, sc) + ", by " + axisTitle(s), Stub: []string{"network"}, Columns: columnsOf(spotNames(s)...)}
	for _, l := range s.Lines {
		values := tableLine{Names: []string{l.Network}, Marks: marks[l.Network], Native: l.Native}
		ratios := tableLine{Names: []string{"  vs " + analysis.BaselineName(s.Cell)}}
		compared := false
		for _, at := range sweepColumns(s) {
			value, f, _ := metricCell(sc, pointAt(l, at), k.Name)
			ratio, has := comparedCell(sc, f)
			compared = compared || has
			values.Cells, ratios.Cells = append(values.Cells, value), append(ratios.Cells, ratio)
		}
		sh.Lines = append(sh.Lines, values)
		if compared {
			sh.Lines = append(sh.Lines, ratios)
		}
	}
	return sh
}

// sweepScale chooses the unit by a typical value: two thirds up in the order of all values.
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

// sweepSummary describes for each network how its distance from native changes, in the
// metric that it is ranked by: no other metric has verdicts. Of numbers it tells the first and the
// last, and one between them if only such are decided; other values have nothing between them, so each is told.
func sweepSummary(s analysis.Sweep, res analysis.Result) []statement {
	primary, ok := s.First(analysis.Row.Primary)
	if !ok || s.Matrix() || len(s.Lines) > mostSentences+1 {
		return nil
	}
	var out []statement
	for _, l := range s.Lines {
		var places []analysis.SweepPoint
		for _, p := range l.Points {
			if f, ok := p.Row.Primary(); ok && f.Name == primary.Name {
				if c := f.Comparison(); c != nil && c.Level > 0 {
					places = append(places, p)
				}
			}
		}
		last := len(places) - 1
		if last < 1 {
			continue
		}
		if s.X.Numeric {
			ends := []analysis.SweepPoint{places[0], places[last]}
			decided := func(p analysis.SweepPoint) bool {
				f, _ := p.Row.Primary()
				return f.Comparison().Verdict == analysis.Different
			}
			if between, ok := record.First(places, decided); ok && !slices.ContainsFunc(ends, decided) {
				ends = slices.Insert(ends, 1, between)
			}
			places, last = ends, len(ends)-1
		}
		told, doubtful := make([]string, len(places)), false
		for i, p := range slices.Backward(places) {
			f, _ := p.Row.Primary()
			text, certain := toldShare(f, s, res)
			told[i] = text + " at " + labelOf(s, p)
			if !certain && !doubtful { // said once, after the last of several
				told[i] += uncertain(res)
			}
			doubtful = !certain
		}
		out = append(out, statement{l.Network, join(told[:last]) + ", and " + told[last] + ".", nil})
	}
	return out
}

// toldShare compares a network with its baseline at one place of a sweep, in words, and
// reports whether the claim holds among all primary comparisons.
func toldShare(f analysis.Figure, s analysis.Sweep, res analysis.Result) (text string, certain bool) {
	c, of, title := *f.Comparison(), analysis.BaselineName(s.Cell), f.Kind.Title
	_, ends, _ := compared(scaleFor(f.Kind, max(f.Summary.Estimate, math.Abs(c.Value))), f)
	share := shareRange(c) + shareOf(c) + of + "'s " + title
	if c.Minus { // one of the two is 0 in some round
		lower := "lower"
		if rises(c) {
			lower = "higher"
		}
		share = "a " + title + " that is " + times(f.Kind, c) + " " + lower + " than " + of + "'s"
	}
	much, less := "much", "less"
	if f.Kind.Unit == "1/s" { // of things that are counted
		much, less = "many", "fewer"
	}
	switch {
	case c.Verdict == analysis.Same:
		return "has as " + much + " " + title + " as " + of + " within " + analysis.Percent(res.Margin) + " (" + ends + ")", true
	case c.Outcome != analysis.Different:
		return "is not known to have more or " + less + " " + title + " than " + of + " (" + ends + ")", true
	case c.Verdict != analysis.Different:
		return "may have " + share, false
	}
	return "has " + share, true
}

// sweepColumn is one column of a sweep's table: a value of the axis, or of both axes.
type sweepColumn struct{ x, y int }

// sweepColumns returns the places of a sweep at which anything was planned.
func sweepColumns(s analysis.Sweep) []sweepColumn {
	there := map[sweepColumn]bool{}
	for _, l := range s.Lines {
		for _, p := range l.Points {
			if p.X < len(s.X.Ticks) && (p.Y < len(s.Y.Ticks) || !s.Matrix()) {
				there[sweepColumn{p.X, p.Y}] = true
			}
		}
	}
	all := slices.Collect(maps.Keys(there))
	slices.SortFunc(all, func(a, b sweepColumn) int { return cmp.Or(a.x-b.x, a.y-b.y) })
	return all
}

func (at sweepColumn) label(s analysis.Sweep) string {
	if s.Matrix() {
		return s.X.Ticks[at.x].Label + "×" + s.Y.Ticks[at.y].Label
	}
	return s.X.Ticks[at.x].Label
}

func spotNames(s analysis.Sweep) []string {
	return record.Each(sweepColumns(s), func(at sweepColumn) string { return at.label(s) })
}

// labelOf returns the label of the place of a point.
func labelOf(s analysis.Sweep, p analysis.SweepPoint) string { return sweepColumn{p.X, p.Y}.label(s) }

func pointAt(l analysis.Line, at sweepColumn) *analysis.Row {
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

// sweepTitles returns the titles of sweeps, with just enough detail to distinguish them.
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

func inMatrices(s analysis.Sweep) bool { return s.Matrix() && len(sweepColumns(s)) > mostFlat }

// inTable reports whether a sweep's tables have the network.
func inTable(s analysis.Sweep, l analysis.Line) bool {
	return slices.ContainsFunc(s.Kinds, func(k record.Kind) bool {
		return !inMatrices(s) || slices.ContainsFunc(l.Points, func(p analysis.SweepPoint) bool {
			_, ok := p.Row.Figure(k.Name)
			return ok
		})
	})
}

// matrixTables returns the tables of one metric, one for each network with figures.
func matrixTables(s analysis.Sweep, k record.Kind, marks map[string][]int) []table {
	sc := sweepScale(s, k)
	var all []table
	for _, l := range s.Lines {
		sh := table{Title: l.Network + ": " + lower(unitTitle(k, sc)), Stub: []string{s.X.Title}, Columns: columnsOf(labels(s.Y.Ticks)...)}
		sh.Note = "Rows: " + s.X.Title + "; columns: " + s.Y.Title
		if l.Native {
			sh.Note += "; each value with its interval."
		} else {
			sh.Note += "; each value with its difference from " + analysis.BaselineName(s.Cell) + ", whose intervals are in CSV and JSON."
		}
		if m := marks[l.Network]; len(m) > 0 {
			sh.Note += " Caveats: " + numbers(m) + "."
		}
		known := false
		for x, tick := range s.X.Ticks {
			out := tableLine{Names: []string{tick.Label}}
			for y := range s.Y.Ticks {
				row := pointAt(l, sweepColumn{x, y})
				shown, f, ok := metricCell(sc, row, k.Name)
				if row == nil { // not planned
					shown = cell{}
				}
				if shows, _, c := compared(sc, f); c != nil {
					shown.Spread = shows
				} else if !l.Native {
					shown.Spread = ""
				}
				known = known || ok
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

func numbers(all []int) string { return join(record.Each(all, strconv.Itoa)) }

// fewScenarios is the largest number of scenarios that keep their own tables although a
// sweep of two steps contains them.
const fewScenarios = 8

// swept returns the scenarios that need no table since a sweep contains them, by the keys of their cells.
func swept(res analysis.Result) map[string]bool {
	all, long := map[string]bool{}, map[string]bool{}
	for _, s := range res.Sweeps {
		maps.Copy(all, keysOf(s))
		if s.Matrix() || len(s.X.Ticks) >= fewestTicks {
			maps.Copy(long, keysOf(s))
		}
	}
	if len(all) <= fewScenarios {
		return long
	}
	return all
}

// keysOf returns the scenarios of a sweep by the keys of their cells.
func keysOf(s analysis.Sweep) map[string]bool {
	keys := map[string]bool{}
	for _, row := range s.Rows() {
		keys[row.Cell.Scenario().Key()] = true
	}
	return keys
}

// apart returns the groups of scenarios that no sweep contains.
func apart(res analysis.Result) []group {
	swept := swept(res)
	res.Scenarios = record.Those(res.Scenarios, func(s analysis.Scenario) bool { return !swept[s.Cell.Scenario().Key()] })
	return groups(res)
}

// has reports whether any point of a sweep has a metric.
func has(s analysis.Sweep, metric string) bool {
	_, ok := s.First(func(r analysis.Row) (analysis.Figure, bool) { return r.Figure(metric) })
	return ok
}

// overlap is the relation of a sweep to larger ones.
type overlap int

const (
	own     overlap = iota // part of the report
	within                 // others contain all of it, but it has charts of its own
	dropped                // others contain it, and it would add nothing
)

// mostInner is the largest number of rows and columns of matrices that get their own charts; if there are
// more, none does, and neither does one with fewer than fewestTicks steps. If less than sparseMatrix of a
// matrix was measured, its rows were meant as sweeps, and are treated as such.
const (
	mostInner    = 12
	fewestTicks  = 3
	sparseMatrix = 0.75
)

// overlaps finds the sweeps whose scenarios are all in larger ones.
func overlaps(all []analysis.Sweep) []overlap {
	keys := record.Each(all, keysOf)
	sparse := record.Each(all, func(s analysis.Sweep) bool {
		return s.Matrix() && float64(len(sweepColumns(s))) < sparseMatrix*float64(len(s.X.Ticks)*len(s.Y.Ticks))
	})
	out := make([]overlap, len(all))
	n := 0
	for i, s := range all {
		var larger []map[string]bool
		for j := range all {
			if len(keys[j]) > len(keys[i]) && !(sparse[j] && len(s.X.Ticks) > fewestTicks) {
				larger = append(larger, keys[j])
			}
		}
		alone := func(k string) bool {
			return !slices.ContainsFunc(larger, func(other map[string]bool) bool { return other[k] })
		}
		switch {
		case slices.ContainsFunc(slices.Collect(maps.Keys(keys[i])), alone):
		case len(s.X.Ticks) < fewestTicks:
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

// shownSweeps returns the sweeps that add something to the others, and whether they are within others.
func shownSweeps(all []analysis.Sweep) (sweeps []analysis.Sweep, inner []bool) {
	for i, stands := range overlaps(all) {
		if stands != dropped {
			sweeps, inner = append(sweeps, all[i]), append(inner, stands == within)
		}
	}
	return sweeps, inner
}

// sweepAbsences describes what is missing and why, each reason once for all networks and cells. A cell with figures of
// which only some trials are missing has not failed itself.
func sweepAbsences(s analysis.Sweep) (all []absence) {
	var met []absence
	planned := map[string]int{}
	for l, row := range s.Rows() {
		planned[l.Network]++
		for _, a := range absencesOf(row) {
			if row.Status == record.OK {
				a.status = "had " + a.status + " trials"
			}
			a.Network, a.counted = l.Network, ""
			met = append(met, a)
		}
	}
	for _, same := range record.Gather(met, func(a absence) absence { return a }) {
		a := same[0]
		if n, of := len(same), planned[a.Network]; n < of {
			a.status += fmt.Sprintf(" in %d of %d cells", n, of)
		}
		all = append(all, a)
	}
	return gathered(all)
}
