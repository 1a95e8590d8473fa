package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"nettoll/record"
)

// inAsMany returns a trial of a baseline with its figures in as many of its slices as a cell's trial has in the same round: those that
// are nearest to the cell's. A baseline has more turns, so that none of any network is far from one. But the mean of more slices
// varies less, and in another shape: where a stream is now and then much slower, the ratio of a mean of two to a mean of eight is
// mostly above 1 between equal networks, and a test for ratios around 1 takes that for a difference. With as many slices, either
// of a pair could be the other. The same holds for what a byte or a transaction costs, and for the mean of latencies, where the next
// transaction begins when one ends. Percentiles are not changed: those of single slices are not recorded, and a median of
// transactions is hardly moved by the few that a slow slice has.
func inAsMany(t, of *record.Trial) *record.Trial {
	if len(t.Slices) == 0 {
		return t
	}
	out := *t
	out.Metrics = maps.Clone(t.Metrics)
	scale := func(share float64, names ...string) {
		if !(share >= 0) || math.IsInf(share, 0) {
			return // nothing was counted at all
		}
		for _, name := range names {
			if m, has := t.Metrics[name]; has {
				m.Value *= share
				out.Metrics[name] = m
			}
		}
	}
	bytes := func(s record.Slice) float64 { return float64(s.Bytes) }
	transactions := func(s record.Slice) float64 { return float64(s.Transactions) }
	window := func(s record.Slice) float64 { return s.Window }
	near := alongside(t.Slices, t.Order, of)
	scale(greater(near, t.Slices, bytes, window), record.Throughput, record.ThroughputPerClient, record.PacketRate)
	rate := greater(near, t.Slices, transactions, window)
	scale(rate, record.TransactionRate)
	if t.Cell.ClosedLoop() {
		scale(1/rate, record.LatencyMean)
	}
	if near, all := costed(t, of); near != nil {
		// No CPU time at all is what a clock could not tell: cost stays as it is then.
		scale(cmp.Or(greater(near, all, cpuOf, bytes), 1), record.CPUPerGB)
		scale(cmp.Or(greater(near, all, cpuOf, transactions), 1), record.CPUPerTransaction)
	}
	return &out
}

func cpuOf(s record.Slice) float64 { return *s.CPU }

// costed returns the slices of a trial on which its cost rests, since their CPU time is known, and those of them that are the nearest
// to a cell's. There are none where what slices used is not the trial's cost, but noise: the cost counts only processes, or a clock
// of ticks tells little about so few of them, each of which it gets wrong by half a tick or so at each CPU.
func costed(t, of *record.Trial) (near, all []record.Slice) {
	if t.CPU == nil || slices.ContainsFunc(t.Warnings, func(w record.Warning) bool { return w.Code == record.WarnIdleBusy }) {
		return nil, nil
	}
	known := func(s record.Slice) bool { return s.CPU != nil }
	all = record.Those(t.Slices, known)
	own := record.Those(of.Slices, known)
	if len(own) == 0 && len(of.Slices) > 0 {
		return nil, nil
	}
	near = alongside(all, t.Order, &record.Trial{Slices: own, Window: of.Window, Order: of.Order})
	const ticks = 10 // this makes an error of a twentieth to a tenth
	// What all slices used decides: if the nearest did, they would count where they seem dear, and not where they seem cheap.
	n := float64(len(near))
	if used := n * record.Sum(all, cpuOf) / float64(len(all)); !t.CPU.Machine.Fine() && !(used >= ticks*tickLength*math.Sqrt(n)) {
		return nil, nil
	}
	return near, all
}

// greater returns by which factor the ratio of two sums is greater over some slices than over all.
func greater(some, all []record.Slice, of, per func(record.Slice) float64) float64 {
	ratio := func(s []record.Slice) float64 { return record.Sum(s, of) / record.Sum(s, per) }
	return ratio(some) / ratio(all)
}

// alongside returns the slices of a baseline beside which a cell was measured: the nearest ones. Of a whole trial, before or after all
// turns, these are the first or the last ones that together are as long. order is the baseline's place in the round.
func alongside(base []record.Slice, order int, of *record.Trial) []record.Slice {
	if len(of.Slices) > 0 {
		return nearest(base, of.Slices)
	}
	usual := record.Sum(base, func(s record.Slice) float64 { return s.Window }) / float64(len(base))
	n := math.Round(of.Window / usual)
	if !(of.Window > 0 && n < float64(len(base))) {
		return base
	}
	some := slices.SortedStableFunc(slices.Values(base), func(a, b record.Slice) int { return cmp.Compare(a.At, b.At) })
	if order < of.Order {
		slices.Reverse(some)
	}
	return some[:max(1, int(n))]
}

// nearest returns one slice of a baseline for each slice of a cell, beginning with those that are closest to each other; all of the
// baseline's if it has no more.
func nearest(base, cell []record.Slice) []record.Slice {
	if len(base) <= len(cell) {
		return base
	}
	type pair struct{ base, cell int }
	var all []pair
	for i := range base {
		for k := range cell {
			all = append(all, pair{i, k})
		}
	}
	apart := func(p pair) float64 { return math.Abs(base[p.base].At - cell[p.cell].At) }
	slices.SortStableFunc(all, func(a, b pair) int { return cmp.Compare(apart(a), apart(b)) })
	var out []record.Slice
	usedBase, usedCell := make([]bool, len(base)), make([]bool, len(cell))
	for _, p := range all {
		if !usedBase[p.base] && !usedCell[p.cell] {
			usedBase[p.base], usedCell[p.cell] = true, true
			out = append(out, base[p.base])
		}
	}
	return out
}
