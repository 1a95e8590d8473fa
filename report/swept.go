package report

import (
	"maps"
	"slices"

	"nettoll/analysis"
	"nettoll/record"
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
	for _, l := range s.Lines {
		for _, p := range l.Points {
			keys[p.Row.Cell.Scenario().Key()] = true
		}
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
	for _, l := range s.Lines {
		for _, p := range l.Points {
			if _, ok := p.Row.Figure(metric); ok {
				return true
			}
		}
	}
	return false
}

// crowds reports whether a sweep varies how many clients there are.
func crowds(s analysis.Sweep) bool {
	seen := map[int]bool{}
	for _, l := range s.Lines {
		for _, p := range l.Points {
			seen[p.Row.Cell.Pairs()] = true
		}
	}
	return len(seen) > 1
}

// kindsOfSweep are the metrics to show, the one that answers first. Where the number
// of clients varies, what each of them gets is what a reader asks for.
func kindsOfSweep(s analysis.Sweep) []record.Kind {
	kinds := slices.Clone(s.Kinds)
	if len(kinds) > 0 && kinds[0].Name != record.TransactionRate && slices.ContainsFunc(kinds, func(k record.Kind) bool { return k.Name == record.LatencyP50 }) {
		kinds = slices.DeleteFunc(kinds, func(k record.Kind) bool { return k.Name == record.TransactionRate })
	}
	kinds = slices.DeleteFunc(kinds, func(k record.Kind) bool { return k.Name == record.ThroughputPerClient })
	if k, ok := record.KindOf(record.ThroughputPerClient); ok && crowds(s) && has(s, k.Name) {
		kinds = append([]record.Kind{k}, kinds...)
	}
	if k, ok := record.KindOf(record.Fairness); ok && crowds(s) && has(s, k.Name) {
		kinds = append(kinds, k)
	}
	return kinds
}
