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
				rows[j].Figures = finiteFigures(rows[j].Figures)
			}
			res.Scenarios[i].Rows = rows
		}
		o.Trials = slices.Clone(o.Trials)
		for i := range o.Trials {
			o.Trials[i].Metrics = finiteMetrics(o.Trials[i].Metrics)
		}
		return write(w, res, o)
	}
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
		if c := f.Ratio; c != nil && !isFinite(c.Ratio, c.Low, c.High, c.P) {
			f.Ratio = nil
		}
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
