package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nettoll/analysis"
)

// grade rates the run as a whole: how many of its comparisons are decided, how precise the changes are,
// what disturbed the run, and the one thing that would help. It is empty if nothing was compared.
func grade(res analysis.Result) string {
	m := res.Multiplicity
	if m.Primary == 0 {
		return ""
	}
	parts := []string{decided(m)}
	if widths := changeWidths(res); len(widths) > 0 {
		half, most := analysis.Percent(upTwoDigits(widths[(len(widths)-1)/2])), analysis.Percent(upTwoDigits(widths[len(widths)-1]))
		switch {
		case len(widths) == 1 || half == most:
			parts = append(parts, "Changes are known to within ±"+most+".")
		default:
			parts = append(parts, "Changes are known to within ±"+half+" (half of them) and ±"+most+" (all).")
		}
	}
	if by := disturbances(res); len(by) > 0 {
		parts = append(parts, "Disturbed by "+strings.Join(by, " and ")+".")
	}
	if advice := ofTheRun(res); advice.Text != "" && res.Aim.Narrow < res.Aim.Asked {
		parts = append(parts, capital(strings.TrimRight(cmp.Or(advice.Advice, advice.Text), "."))+".")
	}
	return strings.Join(parts, " ")
}

// decided says how many comparisons are decided: different or the same.
func decided(m analysis.Multiplicity) string {
	n := m.Different + m.Same
	switch {
	case m.Primary == 1 && n == 1:
		return "The one primary comparison is decided."
	case m.Primary == 1:
		return "The one primary comparison is not decided."
	case n == m.Primary:
		return fmt.Sprintf("All %d primary comparisons are decided.", n)
	case n == 0:
		return fmt.Sprintf("None of %d primary comparisons is decided.", m.Primary)
	}
	return fmt.Sprintf("%d of %d primary comparisons are decided.", n, m.Primary)
}

// changeWidths are the half widths of the intervals of all primary ratios, in order.
func changeWidths(res analysis.Result) (all []float64) {
	for _, r := range res.Rows() {
		for _, f := range r.Figures {
			c := f.Ratio
			if c == nil || !c.Primary || c.Level == 0 || !(c.Value > 0) {
				continue
			}
			if h := max(c.High/c.Value-1, 1-c.Low/c.Value); h > 0 && !math.IsInf(h, 0) && !math.IsNaN(h) {
				all = append(all, h)
			}
		}
	}
	slices.Sort(all)
	return all
}

// upTwoDigits rounds up to two digits, so that the precision is never overstated.
func upTwoDigits(v float64) float64 {
	step := math.Pow10(int(math.Floor(math.Log10(v))) - 1)
	return math.Ceil(v/step-1e-9) * step
}

// disturbances are activities during the run that did not belong to any trial.
func disturbances(res analysis.Result) (all []string) {
	met := append(rowWarnings(res), res.Warnings...)
	for _, d := range []struct{ code, words string }{
		{analysis.WarnBusy, "other work all the time, beside which networks may differ less than on a quiet machine"},
		{"foreign-cpu", "other work on the machine"},
		{"idle-was-busy", "work while the machine was watched idle"},
		{"foreign-packets", "packets of others"},
		{"not-silent", "networks that did not fall silent"},
	} {
		if slices.ContainsFunc(met, func(w analysis.Warning) bool { return w.Code == d.code }) {
			all = append(all, d.words)
		}
	}
	return all
}

// ofTheRun is the doubt that concerns the whole run and not one network: too little time.
func ofTheRun(res analysis.Result) analysis.Warning {
	for _, w := range rowWarnings(res) {
		if isOfTheRun(w) {
			return w
		}
	}
	return analysis.Warning{}
}

// isOfTheRun reports whether a doubt is given once for the run, and not at each network.
func isOfTheRun(w analysis.Warning) bool { return w.Code == analysis.WarnNotPrecise }

func rowWarnings(res analysis.Result) (all []analysis.Warning) {
	for _, r := range res.Rows() {
		all = append(all, r.Warnings...)
	}
	return all
}
