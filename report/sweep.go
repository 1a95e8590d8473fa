package report

import (
	"slices"

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

// toldShare says in words how a network stands to its baseline at one place of a sweep, and whether it
// is certain among all primary comparisons.
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
