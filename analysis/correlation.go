package analysis

import (
	"cmp"
	"math"
)

// correlate gives Kendall's tau-b of published and measured figures: of all pairs
// of cells within a group, the concordant ones less the discordant ones, over the
// geometric mean of the pairs that are not tied in either. Kendall, Rank
// Correlation Methods. Pairs of different groups are not compared, so that a
// correlation of the order of techniques does not feed on the number of clients.
// Cells without a number, or of one network taken for two, make no pair.
//
// In a table of figures relative to a baseline the measured ones are made
// relative, too.
func correlate(cells []ReplicatedCell, relative bool, group func(ReplicatedCell) string) Correlation {
	t := tally{groups: map[string]bool{}}
	t.count(cells, relative, group)
	return t.correlation()
}

// tally counts pairs; those of several tables can be counted together.
type tally struct {
	concordant, discordant  int
	tiedPublished, tiedHere int
	n                       int
	groups                  map[string]bool
}

func (t *tally) count(cells []ReplicatedCell, relative bool, group func(ReplicatedCell) string) {
	for i, a := range cells {
		x, ok := a.here(relative)
		if !ok {
			continue
		}
		for _, b := range cells[i+1:] {
			y, ok := b.here(relative)
			if !ok || group(a) != group(b) || a.Cell == b.Cell {
				continue
			}
			t.n++
			t.groups[group(a)] = true
			published, measured := cmp.Compare(a.Published.Value, b.Published.Value), cmp.Compare(x, y)
			if published == 0 {
				t.tiedPublished++
			}
			if measured == 0 {
				t.tiedHere++
			}
			switch published * measured {
			case 1:
				t.concordant++
			case -1:
				t.discordant++
			}
		}
	}
}

func (t *tally) correlation() Correlation {
	c := Correlation{N: t.n, Groups: len(t.groups)}
	scale := math.Sqrt(float64(t.n-t.tiedPublished) * float64(t.n-t.tiedHere))
	if scale > 0 {
		c.Known = true
		c.Tau = min(1, max(-1, float64(t.concordant-t.discordant)/scale))
	}
	return c
}

// here is the measured counterpart of a published number.
func (c ReplicatedCell) here(relative bool) (v float64, ok bool) {
	switch {
	case !c.Published.Given() || c.Measured == nil:
		return 0, false
	case relative && c.Ratio == nil:
		return 0, false
	case relative:
		return c.Ratio.Value, true
	}
	return c.Measured.Summary.Estimate, true
}
