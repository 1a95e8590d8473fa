package report

import (
	"io"
	"math"
	"slices"

	"nettoll/analysis"
	"nettoll/record"
)

type writer = func(io.Writer, analysis.Result, Options) error

// finite keeps what is not a number away from every format: a figure without
// a median does not exist, an interval without ends gives no level, and a
// ratio that cannot be computed is no ratio.
func finite(write writer) writer {
	return func(w io.Writer, res analysis.Result, o Options) error {
		res.Scenarios = slices.Clone(res.Scenarios)
		for i := range res.Scenarios {
			rows := slices.Clone(res.Scenarios[i].Rows)
			for j := range rows {
				rows[j].Figures, rows[j].CPU = finiteFigures(rows[j].Figures), finiteFigures(rows[j].CPU)
			}
			res.Scenarios[i].Rows = rows
		}
		o.Trials = slices.Clone(o.Trials)
		for i := range o.Trials {
			o.Trials[i].Metrics = finiteMetrics(o.Trials[i].Metrics)
		}
		var f found
		if o.found != nil {
			f = *o.found
		} else {
			f = find(res, o)
		}
		f = finiteFound(f)
		o.found = &f
		return write(w, res, o)
	}
}

// finiteFound does the same for what was found in the rows.
func finiteFound(f found) found {
	f.sweeps = slices.Clone(f.sweeps)
	for i := range f.sweeps {
		lines := slices.Clone(f.sweeps[i].Lines)
		for j := range lines {
			points := slices.Clone(lines[j].Points)
			for k := range points {
				row := &points[k].Row
				row.Figures, row.CPU = finiteFigures(row.Figures), finiteFigures(row.CPU)
			}
			lines[j].Points = points
		}
		f.sweeps[i].Lines = lines
	}
	f.agreements = slices.DeleteFunc(slices.Clone(f.agreements), func(a analysis.Agreement) bool {
		return len(finiteFigures([]analysis.Figure{a.Expected, a.Found})) < 2
	})
	for i := range f.agreements {
		a := &f.agreements[i]
		a.Expected, a.Found = finiteFigures([]analysis.Figure{a.Expected})[0], finiteFigures([]analysis.Figure{a.Found})[0]
		a.Ratio = finiteComparison(a.Ratio)
	}
	f.replications = slices.Clone(f.replications)
	for i := range f.replications {
		tables := slices.Clone(f.replications[i].Tables)
		for j := range tables {
			tables[j].Cells = finiteCells(tables[j].Cells)
			for _, c := range []*analysis.Correlation{&tables[j].Order, &tables[j].Shape} {
				if !isFinite(c.Tau) {
					*c = analysis.Correlation{}
				}
			}
		}
		f.replications[i].Tables = tables
	}
	f.prices = slices.DeleteFunc(slices.Clone(f.prices), func(p analysis.PerPrice) bool {
		m := p.PerDollar
		return !isFinite(m.Median, m.Low, m.High, p.Throughput.Median)
	})
	return f
}

func finiteCells(cells []analysis.ReplicatedCell) []analysis.ReplicatedCell {
	cells = slices.Clone(cells)
	for i := range cells {
		c := &cells[i]
		if !isFinite(c.PublishedRatio) {
			c.PublishedRatio = 0
		}
		if c.Measured != nil {
			kept := finiteFigures([]analysis.Figure{*c.Measured})
			c.Measured = nil
			if len(kept) > 0 {
				c.Measured = &kept[0]
			}
		}
		c.Ratio = finiteComparison(c.Ratio)
		if c.Measured == nil {
			c.Ratio = nil
		}
	}
	return cells
}

func finiteComparison(c *analysis.Comparison) *analysis.Comparison {
	if c == nil || !isFinite(c.Ratio, c.Low, c.High, c.P) {
		return nil
	}
	return c
}

func finiteFigures(figures []analysis.Figure) []analysis.Figure {
	var kept []analysis.Figure
	for _, f := range figures {
		if f.Summary.N == 0 || !isFinite(f.Summary.Median) {
			continue
		}
		s := &f.Summary
		if !isFinite(s.Low, s.High, s.Level) {
			s.Low, s.High, s.Level = s.Median, s.Median, 0
		}
		if !isFinite(s.Min, s.Max) {
			s.Min, s.Max = s.Low, s.High
		}
		f.Ratio = finiteComparison(f.Ratio)
		kept = append(kept, f)
	}
	return kept
}

func finiteMetrics(metrics map[string]record.Metric) map[string]record.Metric {
	kept := make(map[string]record.Metric, len(metrics))
	for name, m := range metrics {
		if isFinite(m.Value) {
			kept[name] = m
		}
	}
	return kept
}

func isFinite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
