package report

import (
	"maps"
	"slices"

	"nettoll/analysis"
)

// fewScenarios is up to how many scenarios have tables of their own, although
// they stand in a sweep, where that is one step only.
const fewScenarios = 8

// swept holds the scenarios that sweeps show well enough, by the keys of their cells.
func swept(res analysis.Result) map[string]bool {
	all, long := map[string]bool{}, map[string]bool{}
	for _, s := range res.Sweeps {
		maps.Copy(all, keysOf(s))
		if s.Matrix() || len(s.XTicks) >= fewestTicks {
			maps.Copy(long, keysOf(s))
		}
	}
	if len(all) <= fewScenarios {
		return long
	}
	return all
}

// keysOf holds the scenarios of a sweep by the keys of their cells.
func keysOf(s analysis.Sweep) map[string]bool {
	keys := map[string]bool{}
	for _, row := range s.Rows() {
		keys[row.Cell.Scenario().Key()] = true
	}
	return keys
}

// apart are the groups that no sweep shows already.
func apart(res analysis.Result) []group {
	swept := swept(res)
	res.Scenarios = slices.DeleteFunc(slices.Clone(res.Scenarios), func(s analysis.Scenario) bool {
		return swept[s.Cell.Scenario().Key()]
	})
	return groups(res)
}

// has reports whether any point of a sweep has a metric.
func has(s analysis.Sweep, metric string) bool {
	_, ok := s.First(func(r analysis.Row) (analysis.Figure, bool) { return r.Figure(metric) })
	return ok
}
