package report

import (
	"maps"
	"slices"

	"nettoll/analysis"
)

// standing says whether others show what a sweep shows.
type standing int

const (
	own     standing = iota // it is a part of the report
	within                  // others show all of it, but it has charts of its own
	dropped                 // others show it, and it would say nothing more
)

// mostInner is how many rows and columns of matrices get charts of their own.
// A row of a matrix of which little was measured was rather meant for itself.
const (
	mostInner    = 12
	fewestTicks  = 3
	sparseMatrix = 0.75
)

// standings finds the sweeps whose every scenario stands in larger ones.
func standings(all []analysis.Sweep) []standing {
	keys := make([]map[string]bool, len(all))
	for i, s := range all {
		keys[i] = keysOf(s)
	}
	out := make([]standing, len(all))
	n := 0
	for i, s := range all {
		covered := map[string]bool{}
		for j, other := range all {
			sparse := other.Matrix() && float64(len(spots(other))) < sparseMatrix*float64(len(other.XTicks)*len(other.YTicks))
			if len(keys[j]) <= len(keys[i]) || sparse && len(s.XTicks) > fewestTicks {
				continue
			}
			maps.Copy(covered, keys[j])
		}
		switch {
		case slices.ContainsFunc(slices.Collect(maps.Keys(keys[i])), func(k string) bool { return !covered[k] }):
		case len(s.XTicks) < fewestTicks:
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

// shownSweeps are the sweeps that say something that no other says, and whether
// they stand within others.
func shownSweeps(all []analysis.Sweep) (sweeps []analysis.Sweep, inner []bool) {
	for i, stands := range standings(all) {
		if stands != dropped {
			sweeps, inner = append(sweeps, all[i]), append(inner, stands == within)
		}
	}
	return sweeps, inner
}
