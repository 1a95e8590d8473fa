package analysis

import (
	"fmt"
	"strings"
)

// crossover holds if the first technique is surely ahead somewhere and surely
// behind further on, and never the other way round.
func (j *judge) crossover() finding {
	var ahead, behind, level, unknown []string
	turned, before := false, false
	for _, t := range j.tables {
		for _, label := range j.labels(t) {
			c := j.contest(t, t.side(j.check.Network, label, j.published), t.side(j.check.Against, label, j.published))
			switch {
			case !c.known:
			case c.ahead > 0:
				ahead = append(ahead, label)
				turned = turned || len(behind) > 0
			case c.ahead < 0:
				behind = append(behind, label)
				before = before || len(ahead) > 0
			case c.level:
				level = append(level, label)
			default:
				unknown = append(unknown, label)
			}
		}
	}
	var f finding
	var parts []string
	for _, p := range []struct {
		is string
		at []string
	}{{"ahead", ahead}, {"behind", behind}, {"level", level}, {"not known", unknown}} {
		if len(p.at) > 0 {
			parts = append(parts, p.is+" at "+strings.Join(p.at, ", "))
		}
	}
	switch {
	case len(parts) == 0:
		f.text = fmt.Sprintf("%s and %s were not measured as two networks at one place", j.check.Network, j.check.Against)
		return f
	case turned, len(level)+len(unknown) == 0 && !before:
		f.outcome = DoesNotHold
	case before:
		f.outcome = Holds
	}
	f.text = fmt.Sprintf("against %s, %s is %s", j.check.Against, j.check.Network, strings.Join(parts, ", "))
	return f
}

// order looks at every two techniques at the same place that the source tells
// apart. A correlation of at least AtLeast is a share of (1 + AtLeast)/2 of pairs
// in the published order; a pair that cannot be told apart here could go either
// way.
func (j *judge) order() finding {
	if j.published {
		return finding{outcome: Holds, text: "as published"}
	}
	sum := tally{groups: map[string]bool{}}
	for _, t := range j.tables {
		sum.count(t.Cells, t.Table.Relative, func(c ReplicatedCell) string { return t.Table.Name + "/" + c.Published.Label })
		networks := j.among(t)
		for _, label := range j.labels(t) {
			for i, a := range networks {
				for _, b := range networks[i+1:] {
					j.pair(t, a, b, label)
				}
			}
		}
	}
	f := finding{outcome: share(j.won, j.lost, j.open, (1+j.check.AtLeast)/2), text: "no two of the techniques were measured at one place"}
	if j.won+j.lost+j.open > 0 {
		f.text = "the techniques come in the published order " + j.counts("pairs")
		if c := sum.correlation(); c.Known {
			f.text += fmt.Sprintf(" (%s of the estimates is %.2f)", CorrelationName, c.Tau)
		}
	}
	return f
}

// pair counts two techniques at a place for or against the published order.
func (j *judge) pair(t ReplicatedTable, a, b, label string) {
	published := compareSides(t.side(a, label, true), t.side(b, label, true), judging{})
	if !published.known || published.ahead == 0 {
		return
	}
	c := j.contest(t, t.side(a, label, false), t.side(b, label, false))
	switch {
	case !c.known:
	case c.ahead == 0:
		j.leave(c)
	case c.ahead == published.ahead:
		j.won++
	default:
		j.lost++
	}
}
