package report

import (
	"testing"

	"nettoll/analysis"
)

func TestGrade(t *testing.T) {
	row := func(low, high float64, warnings ...analysis.Warning) analysis.Row {
		return analysis.Row{Warnings: warnings, Figures: []analysis.Figure{{Ratio: &analysis.Comparison{Value: 1, Interval: analysis.Interval{Low: low, High: high, Level: 0.95}, Primary: true}}}}
	}
	short := analysis.Warning{Code: analysis.WarnNotPrecise, Text: "not ±5%", Advice: "allow more time (--time-budget 3m)"}
	for _, c := range []struct {
		name string
		m    analysis.Multiplicity
		rows []analysis.Row
		want string
	}{
		{"nothing was compared", analysis.Multiplicity{}, nil, ""},
		{"all", analysis.Multiplicity{Primary: 3, Different: 2, Same: 1}, []analysis.Row{row(0.98, 1.01), row(0.9, 1.05), row(0.96, 1.03)},
			"All 3 primary comparisons are decided. Changes are known to within ±4% (half of them) and ±10% (all)."},
		{"one", analysis.Multiplicity{Primary: 1, Different: 1}, []analysis.Row{row(0.956, 1.01)}, "The one primary comparison is decided. Changes are known to within ±4.4%."},
		{"some, with too little time and noise", analysis.Multiplicity{Primary: 2, Different: 1, NotKnown: 1},
			[]analysis.Row{row(0.8, 1.2, short, analysis.Warning{Code: "foreign-cpu"}), row(0.8, 1.2, short, analysis.Warning{Code: "not-silent"})},
			"1 of 2 primary comparisons are decided. Changes are known to within ±20%. Disturbed by other work on the machine and networks that did not fall silent. Allow more time (--time-budget 3m)."},
		{"too few rounds", analysis.Multiplicity{Primary: 2, Untested: 2}, []analysis.Row{{}}, "None of 2 primary comparisons is decided."},
	} {
		res := analysis.Result{Multiplicity: c.m, Aim: analysis.Aim{Asked: c.m.Primary, Narrow: c.m.Primary - c.m.NotKnown}, Scenarios: []analysis.Scenario{{Rows: c.rows}}}
		if got := grade(res); got != c.want {
			t.Errorf("%s: %q\nwant %q", c.name, got, c.want)
		}
	}
}
