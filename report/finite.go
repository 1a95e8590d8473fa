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
				rows[j] = finiteRow(rows[j])
			}
			res.Scenarios[i].Rows = rows
		}
		o.Trials = finiteTrials(o.Trials)
		return write(w, finiteTogether(res), o)
	}
}

// finiteTogether does the same for what the rows show together.
func finiteTogether(f analysis.Result) analysis.Result {
	f.Sweeps = slices.Clone(f.Sweeps)
	for i := range f.Sweeps {
		lines := slices.Clone(f.Sweeps[i].Lines)
		for j := range lines {
			points := slices.Clone(lines[j].Points)
			for k := range points {
				points[k].Row = finiteRow(points[k].Row)
			}
			lines[j].Points = points
		}
		f.Sweeps[i].Lines = lines
	}
	f.Agreements = slices.DeleteFunc(slices.Clone(f.Agreements), func(a analysis.Agreement) bool {
		return len(finiteFigures([]analysis.Figure{a.Expected, a.Found})) < 2
	})
	for i := range f.Agreements {
		a := &f.Agreements[i]
		a.Expected, a.Found = finiteFigures([]analysis.Figure{a.Expected})[0], finiteFigures([]analysis.Figure{a.Found})[0]
		a.Ratio = finiteComparison(a.Ratio)
	}
	f.Replications = slices.Clone(f.Replications)
	for i := range f.Replications {
		tables := slices.Clone(f.Replications[i].Tables)
		for j := range tables {
			tables[j].Cells = finiteCells(tables[j].Cells)
			for _, c := range []*analysis.Correlation{&tables[j].Order, &tables[j].Shape} {
				if !isFinite(c.Tau) {
					*c = analysis.Correlation{}
				}
			}
		}
		f.Replications[i].Tables = tables
	}
	f.Prices = slices.DeleteFunc(slices.Clone(f.Prices), func(p analysis.PerPrice) bool {
		m := p.PerDollar
		return !isFinite(m.Estimate, m.Low, m.High, p.Throughput.Estimate)
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
	if c == nil || !isFinite(c.Value, c.Low, c.High, c.P) {
		return nil
	}
	return c
}

func finiteRow(row analysis.Row) analysis.Row {
	row.Figures, row.CPU, row.Costs = finiteFigures(row.Figures), finiteFigures(row.CPU), finiteFigures(row.Costs)
	if row.InUse != nil {
		kept := finiteFigures([]analysis.Figure{*row.InUse})
		row.InUse = nil
		if len(kept) > 0 {
			row.InUse = &kept[0]
		}
	}
	return row
}

func finiteFigures(figures []analysis.Figure) []analysis.Figure {
	var kept []analysis.Figure
	for _, f := range figures {
		if f.Summary.N == 0 || !isFinite(f.Summary.Estimate) {
			continue
		}
		s := &f.Summary
		if !isFinite(s.Low, s.High, s.Level) {
			s.Low, s.High, s.Level = s.Estimate, s.Estimate, 0
		}
		if !isFinite(s.Min, s.Max) {
			s.Min, s.Max = s.Low, s.High
		}
		if !isFinite(s.Median) {
			s.Median = s.Estimate
		}
		f.Ratio, f.Difference = finiteComparison(f.Ratio), finiteComparison(f.Difference)
		kept = append(kept, f)
	}
	return kept
}

// finiteTrials are the trials themselves where nothing has to be kept away, as is so with all that come
// from a run file.
func finiteTrials(trials []record.Trial) []record.Trial {
	odd := func(t record.Trial) bool {
		for _, m := range t.Metrics {
			if !isFinite(m.Value) {
				return true
			}
		}
		return false
	}
	if !slices.ContainsFunc(trials, odd) {
		return trials
	}
	trials = slices.Clone(trials)
	for i := range trials {
		trials[i].Metrics = finiteMetrics(trials[i].Metrics)
	}
	return trials
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
