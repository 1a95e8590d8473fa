package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nettoll/record"
)

// doubts are the warnings of one row, the gravest first.
func doubts(row Row, c, base series, in circumstances) []Warning {
	if len(c.trials) == 0 {
		return []Warning{warnNotMeasured()}
	}
	out := lost(c)
	if row.Status != record.OK {
		cause, _, found := strings.Cut(row.Reason, " (seen as: ")
		return append(out, slices.DeleteFunc(carried(c), func(w Warning) bool {
			return found && strings.HasPrefix(w.Text, cause) // the reason says it
		})...)
	}
	k, ok := c.primary(), c.ok()
	points, basePoints := c.points(k), base.points(k)

	least := record.LeastRounds(1, in.level)
	switch known := row.Reached; {
	case known.N < least:
		out = append(out, warnTooFewRounds(known.N, least, in.level, in.more(least)))
	case known.HalfWidth > known.Wanted && known.Wanted > 0:
		out = append(out, warnNotPrecise(k, in))
	}
	if !row.Native {
		switch missing := len(points) - len(pairUp(points, basePoints)); {
		case len(basePoints) == 0:
			out = append(out, warnNoNative(c.cell))
		case missing > 0:
			out = append(out, warnUnpaired(c.cell, missing, len(points)))
		}
		if d := differences(c, base); len(d) > 0 {
			out = append(out, warnDiffers(c.cell, d))
		}
	}
	out = append(out, carried(c)...)
	if s := stolen(ok, len(in.machine.CPUs)); s > stealLimit {
		out = append(out, warnSteal(s))
	}
	out = append(out, unsteady(row, k, points, in)...)
	trend := slices.ContainsFunc(out, func(w Warning) bool { return w.Code == WarnDrift })
	out = append(out, alike(row, k, points, basePoints, trend, in)...)
	out = append(out, uncovered(ok)...)
	if moving := unstationary(k, ok); len(moving) > 0 {
		out = append(slices.DeleteFunc(out, func(w Warning) bool { return w.Code == warnCold }), moving...) // says more
	}
	if names := unknown(ok); len(names) > 0 {
		out = append(out, warnUnknownMetric(names))
	}
	return out
}

// lost are the warnings about trials without figures. A cell that was skipped
// in every round has none: its row gives the reason.
func lost(c series) []Warning {
	var out []Warning
	for _, status := range []record.Status{record.Failed, record.Invalid, record.Skipped} {
		var last *record.Trial
		n := 0
		for _, t := range c.trials {
			if t.Status == status {
				n++
				last = t
			}
		}
		if n == 0 || status == record.Skipped && n == len(c.trials) {
			continue
		}
		out = append(out, warnLost(status, n, len(c.trials), last.Reason, last.Remedy))
	}
	return out
}

// carried merges the warnings of trials by code, in the order in which they
// first appear.
func carried(c series) []Warning {
	var order []string
	count := map[string]int{}
	last := map[string]record.Warning{}
	for _, t := range c.trials {
		of := map[string]bool{}
		for _, w := range t.Warnings {
			if count[w.Code] == 0 {
				order = append(order, w.Code)
			}
			if !of[w.Code] {
				of[w.Code] = true
				count[w.Code]++
			}
			last[w.Code] = w
		}
	}
	var out []Warning
	for _, code := range order {
		out = append(out, warnCarried(last[code], count[code], len(c.trials)))
	}
	return out
}

// unsteady looks at how a metric behaves over the rounds.
func unsteady(row Row, k record.Kind, points []Point, in circumstances) []Warning {
	var out []Warning
	if row.Native && len(points) >= 4 {
		if p := trendP(points); p < driftLevel {
			if change := trendChange(points); change > driftLimit || change < -driftLimit {
				out = append(out, warnDrift(row.Cell, k, change, p))
			}
		}
		if cv := variation(values(points)); cv > noisyLimit {
			out = append(out, warnNoisy(row.Cell, k, cv, in.more(2*len(points))))
		}
	}
	if far := outliers(points, outlierLimit); len(far) > 0 {
		out = append(out, warnOutliers(k, len(far), len(points), withstands(len(points), len(far), in.level)))
	}
	return out
}

// stolen is the mean over trials of the share of the CPU time of their windows
// that the hypervisor took. cpus is how many the machine has, for trials that do
// not list them.
func stolen(trials []*record.Trial, cpus int) float64 {
	var sum float64
	n := 0
	for _, t := range trials {
		if t.CPU == nil || t.Window <= 0 {
			continue
		}
		if len(t.CPU.Machine.PerCPU) > 0 {
			cpus = len(t.CPU.Machine.PerCPU)
		}
		share := t.CPU.Machine.Steal / t.Window / float64(max(1, cpus))
		sum += min(1, max(0, share))
		n++
	}
	return sum / float64(max(1, n))
}

// unknown names the metrics of trials that have no kind, or another unit.
func unknown(trials []*record.Trial) []string {
	names := map[string]bool{}
	for _, t := range trials {
		for name, m := range t.Metrics {
			if k, ok := record.KindOf(name); !ok {
				names[name] = true
			} else if !usable(k, m) {
				names[fmt.Sprintf("%s in %q", name, m.Unit)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// leastCovered is the share of the window that transactions of a closed loop should
// cover. On a quiet machine it is 0.99 or more; the rest is transactions across its edges.
const leastCovered = 0.98

// uncovered are doubts about trials whose latencies do not cover the whole window.
func uncovered(trials []*record.Trial) []Warning {
	known, n, least := 0, 0, 1.0
	for _, t := range trials {
		if t.Covered <= 0 {
			continue
		}
		known++
		if t.Covered < leastCovered {
			n++
			least = min(least, t.Covered)
		}
	}
	if n == 0 {
		return nil
	}
	return []Warning{{WarnUncovered,
		fmt.Sprintf("in %d of %d trials the transactions that count cover less than %s of the window, at the least %s: the rest passed in slow ones that began before it, on lost datagrams, or without a CPU",
			n, known, Percent(leastCovered), Percent(least)),
		"the slowest are missing from the percentiles: measure longer windows (-t), or stop other work on the machine"}}
}
