package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// sweepTitles tells sweeps from each other by no more words than that needs.
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
