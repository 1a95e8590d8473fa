package analysis

import (
	"fmt"
	"math"

	"nettoll/record"
)

// Limits of what a window may change from its first half to its second.
const (
	courseLevel = 0.02 // p of the test; seven rounds can reach it
	courseLimit = 0.10 // of the mean
)

// unstationary are doubts about windows whose second half holds more than the first,
// or less: then a start was measured, or the end of a burst.
//
// Within a window neighbouring parts are alike, since what disturbs a machine lasts for
// tenths of a second, as long as many a window; no test of one window could tell a trend
// from that. Windows of different rounds are independent. Of each the second half is
// compared with the first, as (B-A)/(B+A). If the window is stationary that is as often
// above 0 as below, however noisy and however bursty the traffic is, and Wilcoxon's
// signed-rank test of the rounds holds its level.
func unstationary(k record.Kind, trials []*record.Trial) []Warning {
	var changes []float64
	for _, t := range trials {
		if d, ok := change(courseOf(k, t)); ok {
			changes = append(changes, d)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	p := signedRankP(changes, newRanksNull(plainRanks(len(changes))))
	size := 2 * pseudomedian(changes)
	if p >= courseLevel || math.Abs(size) <= courseLimit {
		return nil
	}
	how, less := "more", 1.0
	if size < 0 {
		how, less = "less", -1
	}
	return []Warning{{WarnUnstationary,
		fmt.Sprintf("the second half of the window held %s %s than the first (%d rounds, p=%.2g): %s had not come to its steady state", Percent(less*size), how, len(changes), p, k.Title),
		"allow a longer warm-up (--warmup), or measure a longer window (-t), in which the beginning counts for less"}}
}

// courseOf is what the parts of a trial's window held of what the metric is about.
func courseOf(k record.Kind, t *record.Trial) (parts []float64) {
	switch {
	case t.Course == nil:
		return nil
	case k.Unit == "bit/s", k.Name == record.PacketRate:
		for _, n := range t.Course.Bytes {
			parts = append(parts, float64(n))
		}
		return parts
	}
	return t.Course.Transactions
}

// change is the second half of a window less the first, over both.
func change(parts []float64) (share float64, ok bool) {
	var first, second float64
	for i, n := range parts {
		switch {
		case 2*i+1 < len(parts):
			first += n
		case 2*i+1 > len(parts):
			second += n
		}
	}
	share = (second - first) / (second + first)
	return share, !math.IsNaN(share) && !math.IsInf(share, 0)
}
