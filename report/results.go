package report

import (
	"nettoll/analysis"
	"nettoll/record"
)

// section is a group of scenarios as a part of a report.
func (g titledGroup) section(n *notes, looks looks) *section {
	return &section{
		Title: g.name, Meta: g.measuredWith(), Summary: g.summary(), Tables: []table{g.table(n)}, Missing: g.absences(), Word: g.word(),
		figures: func() []figure { return g.figures(looks) }, group: &g.group,
	}
}

// shortTitles are the headings where there is little room; all others are the metric's own.
var shortTitles = map[string]string{
	record.LatencyP50:        "p50",
	record.LatencyP99:        "p99",
	record.LatencyP99ByTime:  "p99 by time",
	record.LatencyP999:       "p99.9",
	record.LatencyAdded:      "added",
	record.CPUPerTransaction: "CPU/trans.",
	record.CPUPerGB:          "CPU/GB",
}

// table has a column for each metric of a group.
func (g group) table(n *notes) table {
	t := table{Stub: []string{"network"}, results: true}
	for _, c := range g.columns {
		col := tableColumn{Title: g.heading(c), short: g.shortHeading(c), metric: c.kind.Name, Unit: c.scale.unit, Hint: hint(c.kind)}
		if g.compared(c) {
			col.Baseline, col.shortBase = g.baseline(), g.shortBaseline()
		}
		t.Columns = append(t.Columns, col)
	}
	for _, l := range g.lines {
		out := tableLine{Names: []string{l.name}, Marks: n.marks(l), Native: l.native}
		for _, c := range g.columns {
			shown := absentCell(l.rows[c.scenario])
			if f, ok := l.figure(c); ok {
				shown = figureCell(c.scale, f)
				shown.Change, shown.Ends, shown.against = compared(c.scale, f)
			}
			out.Cells = append(out.Cells, shown)
		}
		t.Lines = append(t.Lines, out)
	}
	return t
}

// compared reports whether any figure of a column stands beside native.
func (g group) compared(c column) bool {
	for _, l := range g.lines {
		if f, ok := l.figure(c); ok && f.Comparison() != nil {
			return true
		}
	}
	return false
}

// claimed reports whether a change holds among all primary comparisons.
func claimed(c analysis.Comparison) bool { return c.Primary && c.Verdict == analysis.Different }
