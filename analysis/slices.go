package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"nettoll/record"
)

// inAsMany returns a trial of a baseline with its rates in as many of its slices as a cell's trial has in the same round: those that
// are nearest to the cell's. A baseline has more turns, so that none of any network is far from one. But the mean of more slices
// varies less, and in another shape: where a stream is now and then much slower, the ratio of a mean of two to a mean of eight is
// mostly above 1 between equal networks, and a test for ratios around 1 takes that for a difference. With as many slices, either
// of a pair could be the other. Latencies are not changed: those of single slices are not recorded, and a median of transactions is
// hardly moved by the few that a slow slice has.
func inAsMany(t, of *record.Trial) *record.Trial {
	if len(of.Slices) == 0 || len(t.Slices) <= len(of.Slices) {
		return t
	}
	near := nearest(t.Slices, of.Slices)
	out := *t
	out.Metrics = maps.Clone(t.Metrics)
	scale := func(count func(record.Slice) uint64, names ...string) {
		share := perSecond(near, count) / perSecond(t.Slices, count)
		if !(share > 0) || math.IsInf(share, 0) {
			return // nothing was counted
		}
		for _, name := range names {
			if m, has := t.Metrics[name]; has {
				m.Value *= share
				out.Metrics[name] = m
			}
		}
	}
	scale(func(s record.Slice) uint64 { return s.Bytes }, record.Throughput, record.ThroughputPerClient, record.PacketRate)
	scale(func(s record.Slice) uint64 { return s.Transactions }, record.TransactionRate)
	return &out
}

// perSecond returns the rate of what was counted in slices.
func perSecond(all []record.Slice, count func(record.Slice) uint64) float64 {
	n := record.Sum(all, count)
	return float64(n) / record.Sum(all, func(s record.Slice) float64 { return s.Window })
}

// nearest returns one slice of a baseline for each slice of a cell, beginning with those that are closest to each other.
func nearest(base, cell []record.Slice) []record.Slice {
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
