package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"nettoll/record"
)

// Visit is one network of a round: it is built once, and all its cells are
// measured in it one after the other.
type Visit struct {
	record.Cell // what the cells have in common: no workload, tool, family, placement or baseline
	Cells       []record.Cell
}

// Shape is that of the underlay.
func (v Visit) Shape() (Underlay, error) {
	u, err := ParseUnderlay(v.Underlay)
	if err == nil && u.Instance != "" && u.Rate == 0 && u.Delay == 0 {
		err = fmt.Errorf("underlay %s has no shape; write its rate, as in %[1]s:rate=1gbit", v.Underlay)
	}
	return u, err
}

// Visits puts the cells of a round in a random order: the networks, and the
// cells within each. The order depends on the set of cells, the round and the
// seed only, so that a resumed run goes on in the order that it began with.
func Visits(cells []record.Cell, round int, seed uint64) []Visit {
	visits := group(cells)
	r := rand.New(rand.NewPCG(seed, uint64(round)))
	r.Shuffle(len(visits), func(i, j int) { visits[i], visits[j] = visits[j], visits[i] })
	for _, v := range visits {
		r.Shuffle(len(v.Cells), func(i, j int) { v.Cells[i], v.Cells[j] = v.Cells[j], v.Cells[i] })
	}
	return visits
}

// Place is what cells have in common that are measured in the same network.
func Place(c record.Cell) record.Cell {
	c.Family, c.Tool, c.Workload, c.Options, c.Placement, c.Baseline = 0, "", "", record.Options{}, "", ""
	return c
}

// group gathers the cells that are measured in the same network, in the order of
// their keys.
func group(cells []record.Cell) []Visit {
	type keyed struct {
		key  string
		cell record.Cell
	}
	sorted := make([]keyed, len(cells))
	for i, c := range cells {
		sorted[i] = keyed{c.Key(), c}
	}
	slices.SortFunc(sorted, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	var visits []Visit
	for _, same := range gathered(sorted, func(k keyed) record.Cell { return Place(k.cell) }) {
		v := Visit{Cell: Place(same[0].cell)}
		for _, k := range same {
			v.Cells = append(v.Cells, k.cell)
		}
		visits = append(visits, v)
	}
	return visits
}

// gathered puts what has the same key together, in the order in which keys come first.
func gathered[T any, K comparable](all []T, key func(T) K) (lists [][]T) {
	at := make(map[K]int)
	for _, one := range all {
		k := key(one)
		i, ok := at[k]
		if !ok {
			i = len(lists)
			at[k], lists = i, append(lists, nil)
		}
		lists[i] = append(lists[i], one)
	}
	return lists
}
