package analysis

import (
	"fmt"

	"nettoll/record"
)

// leastCovered is the share of the window that transactions of a closed loop should have
// covered. On a quiet machine 0.99 and more are left to those that lie across its edges.
const leastCovered = 0.98

// uncovered are doubts about latencies of trials in whose window there was time that
// belongs to none of them.
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
