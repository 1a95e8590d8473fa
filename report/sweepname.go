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
	apart := []func(record.Cell) string{
		func(c record.Cell) string { return c.Tool },
		crowd,
		func(c record.Cell) string { return lower(sharedText(record.Cell{Hosts: c.Hosts, Family: c.Family})) },
		func(c record.Cell) string {
			return lower(sharedText(record.Cell{Placement: c.Placement, Underlay: c.Underlay}))
		},
		func(c record.Cell) string { return join(conditions(c)) },
		func(c record.Cell) string { return optionsText(c.Options) },
	}
	titles := make([]string, len(all))
	for i, s := range all {
		titles[i] = base(s)
		for _, part := range apart {
			differs := slices.ContainsFunc(all, func(other analysis.Sweep) bool {
				return base(other) == base(s) && part(other.Cell) != part(s.Cell)
			})
			if text := part(s.Cell); differs && text != "" {
				titles[i] += ", " + text
			}
		}
	}
	return titles
}

// sharedText is what the cells of a sweep share, less the traffic.
func sharedText(c record.Cell) string { return titleOf(c, false) }

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
