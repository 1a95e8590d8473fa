package report

import (
	"maps"
	"path"
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/reference"
)

// found is what a run shows beyond its single scenarios.
type found struct {
	sweeps       []analysis.Sweep
	agreements   []analysis.Agreement
	replications []analysis.Replication
	prices       []analysis.PerPrice
}

func find(res analysis.Result, o Options) found {
	f := found{agreements: analysis.Agreements(res), prices: analysis.PerPrices(res)}
	// Twins are compared with each other, not along an axis.
	if !res.Run.Settings.SelfCheck {
		f.sweeps = analysis.Sweeps(res)
	}
	if src, ok := reference.ByName(sourceName(res, o)); ok {
		f.replications = append(f.replications, analysis.Replicate(res, src))
	}
	return f
}

// sourceName is the published source that a run is put beside: the one that was
// asked for, or the one that its suite is named after.
func sourceName(res analysis.Result, o Options) string {
	if o.Source != "" {
		return o.Source
	}
	name := path.Base(res.Run.Suite)
	return strings.TrimSuffix(name, path.Ext(name))
}

// fewScenarios is up to how many scenarios have tables of their own, although
// they stand in a sweep, where that is one step only.
const fewScenarios = 8

// swept holds the scenarios that sweeps show well enough, by the keys of their cells.
func (f found) swept() map[string]bool {
	all, long := map[string]bool{}, map[string]bool{}
	for _, s := range f.sweeps {
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
func (f found) apart(res analysis.Result) []group {
	swept := f.swept()
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
