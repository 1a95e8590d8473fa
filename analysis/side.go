package analysis

import (
	"cmp"
	"fmt"

	"nettoll/record"
)

// side is a network at a place: one end of a comparison.
type side struct {
	ok        bool
	why       string      // not
	network   string      // as the source calls it
	shown     string      // the same, with what stands in for it
	cell      record.Cell // measured
	label     string
	value     float64 // published, or the measured estimate
	points    []Point // measured
	better    record.Direction
	published bool
}

// side finds the figure of a network in a column, published or measured. The
// baseline of a table of relative figures is in no cell of it.
func (t ReplicatedTable) side(network, label string, published bool) side {
	s := side{network: network, shown: network, label: label, better: t.Kind.Better, published: published, why: "the table does not have it"}
	for _, c := range t.Cells {
		p := c.Published
		switch {
		case p.Label != label:
			continue
		case p.Network == network && published:
			s.ok, s.value, s.why = p.Given(), p.Value, p.Missing
			if t.Table.Relative {
				s.value = 1 + p.Value/100
			}
			return s
		case p.Network == network:
			s.cell, s.why = c.Cell, c.Skipped
			if c.StandsIn() {
				s.shown += " (" + c.Cell.Network + ")"
			}
			if c.Measured != nil {
				s.ok, s.value, s.points = true, c.Measured.Summary.Estimate, c.Measured.Points
			}
			return s
		}
	}
	if network != t.Table.Baseline || !t.Table.Relative {
		return s
	}
	if published {
		s.ok, s.value = true, 1
		return s
	}
	for _, c := range t.Cells {
		if c.Published.Label == label && c.base != nil {
			s.ok, s.value, s.points = true, c.base.Summary.Estimate, c.base.Points
			return s
		}
	}
	s.why = NotInRun
	return s
}

// contest is what comparing two sides shows.
type contest struct {
	known            bool // both sides have figures of their own
	exact            bool // the interval is one at the level; that of published figures is a point
	ahead            int  // 1: surely the first side, by however little; −1: surely the second
	level            bool // neither, and the two are the same within the margin
	ratio, low, high float64
	text             string
}

// compareSides compares a with b. Published figures are taken as exact.
func compareSides(a, b side, j judging) contest {
	switch {
	case !a.ok || !b.ok:
		return contest{}
	case a.published:
		c := contest{known: true, exact: true, ahead: cmp.Compare(a.value, b.value)}
		if a.better == record.LowerIsBetter {
			c.ahead = -c.ahead
		}
		c.level = c.ahead == 0
		if b.value > 0 {
			c.ratio = a.value / b.value
			c.low, c.high = c.ratio, c.ratio
		}
		c.text = fmt.Sprintf("%.3g times", c.ratio)
		return c
	case a.cell == b.cell:
		return contest{} // one network, taken for two networks
	}
	r := compare(pairUp(a.points, b.points), a.better, j)
	if r == nil {
		return contest{}
	}
	c := contest{known: true, exact: r.Level > 0, ratio: r.Value, low: r.Low, high: r.High}
	switch {
	case !c.exact:
	case r.Low > 1:
		c.ahead = 1
	case r.High < 1:
		c.ahead = -1
	}
	if a.better == record.LowerIsBetter {
		c.ahead = -c.ahead
	}
	c.level = c.ahead == 0 && r.Outcome == Same
	if c.exact {
		c.text = fmt.Sprintf("%.3g times (%.3g to %.3g)", r.Value, r.Low, r.High)
	} else {
		c.text = fmt.Sprintf("%.3g times (too few common rounds to be sure: %d)", r.Value, r.N)
	}
	return c
}
