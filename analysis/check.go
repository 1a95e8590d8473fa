package analysis

import (
	"fmt"
	"slices"
	"strings"

	"nettoll/reference"
)

// note keeps the figures of one comparison, beside the published ones.
func (j *judge) note(t ReplicatedTable, a, b side, c contest) {
	if j.published || !c.known {
		return
	}
	what := fmt.Sprintf("%s: %s against %s", a.label, a.shown, b.shown)
	if a.label != b.label {
		what = fmt.Sprintf("%s: %s against %s", a.shown, a.label, b.label)
	}
	told := "not published"
	if p := compareSides(t.side(a.network, a.label, true), t.side(b.network, b.label, true), judging{}); p.known && p.ratio > 0 {
		told = "published " + p.text
	}
	if line := fmt.Sprintf("%s %s, %s", what, c.text, told); !slices.Contains(j.evidence, line) {
		j.evidence = append(j.evidence, line)
	}
}

// contest compares two sides and keeps the figures.
func (j *judge) contest(t ReplicatedTable, a, b side) contest {
	c := compareSides(a, b, j.judging)
	j.note(t, a, b, c)
	return c
}

func (j *judge) faster() finding {
	one := func(t ReplicatedTable, a, b side) {
		c := j.contest(t, a, b)
		switch {
		case !c.known:
		case c.ahead > 0:
			j.won++
		case c.ahead < 0 || j.published:
			j.lost++
		default:
			j.leave(c)
		}
	}
	for _, t := range j.tables {
		for _, network := range j.among(t) {
			for _, p := range j.check.Pairs {
				ahead, behind := labelIn(t, p.Ahead), labelIn(t, p.Behind)
				one(t, t.side(network, ahead, j.published), t.side(network, behind, j.published))
			}
		}
		if len(j.check.Pairs) == 0 {
			for _, label := range j.labels(t) {
				one(t, t.side(j.check.Network, label, j.published), t.side(j.check.Against, label, j.published))
			}
		}
	}
	f := finding{outcome: share(j.won, j.lost, j.open, j.check.AtLeast)}
	switch {
	case j.won+j.lost+j.open == 0:
		f.text = "nothing of it was measured on both sides"
	case len(j.check.Pairs) > 0:
		f.text = "it is so " + j.counts("comparisons")
	default:
		f.text = fmt.Sprintf("%s is ahead of %s %s", j.check.Network, j.check.Against, j.counts("places"))
	}
	return f
}

func (j *judge) fastest() finding {
	var others []string
	level := false
	for _, t := range j.tables {
		for _, label := range j.labels(t) {
			a, rivals, least := t.side(j.check.Network, label, j.published), 0, 1
			for _, network := range j.among(t) {
				if network == j.check.Network {
					continue
				}
				c := j.contest(t, a, t.side(network, label, j.published))
				if !c.known {
					continue
				}
				rivals++
				if c.level {
					level = true
					continue
				}
				least = min(least, c.ahead)
				if !slices.Contains(others, network) {
					others = append(others, network)
				}
			}
			switch {
			case rivals == 0:
			case least > 0:
				j.won++
			case least < 0:
				j.lost++
			default:
				j.open++
			}
		}
	}
	f := finding{outcome: share(j.won, j.lost, j.open, j.check.AtLeast), text: "nothing was measured that it could be compared with"}
	if len(others) > 0 {
		how := "ahead of"
		if level {
			how = "ahead of, or level with,"
		}
		f.text = fmt.Sprintf("%s is %s %s %s", j.check.Network, how, strings.Join(others, ", "), j.counts("places"))
	}
	return f
}

func (j *judge) relative() finding {
	low, high := j.check.Ratio-j.check.Tolerance, j.check.Ratio+j.check.Tolerance
	var told []string
	for _, t := range j.tables {
		for _, label := range j.labels(t) {
			a, b := t.side(j.check.Network, label, j.published), t.side(j.check.Against, label, j.published)
			c := j.contest(t, a, b)
			switch {
			case !c.known:
				continue
			case !c.exact:
				j.open++
			case c.low >= low && c.high <= high:
				j.won++
			case c.high < low || c.low > high:
				j.lost++
			default:
				j.open++
			}
			if len(told) == 0 {
				told = append(told, fmt.Sprintf("%s has %s the %s of %s at %s", j.check.Network, c.text, t.Kind.Title, j.check.Against, label))
			} else {
				told = append(told, fmt.Sprintf("%s at %s", c.text, label))
			}
		}
	}
	f := finding{outcome: share(j.won, j.lost, j.open, j.check.AtLeast)}
	if len(told) == 0 {
		f.text = fmt.Sprintf("%s and %s were not measured as two networks at one place", j.check.Network, j.check.Against)
		return f
	}
	f.text = fmt.Sprintf("%s, where %.3g to %.3g is meant", strings.Join(told, ", "), low, high)
	return f
}

// among are the techniques of a table that the check is about.
func (j *judge) among(t ReplicatedTable) []string {
	if len(j.check.Among) > 0 {
		return j.check.Among
	}
	return t.Table.Networks()
}

// labelIn is the first column within a place.
func labelIn(t ReplicatedTable, where reference.Place) string {
	for _, c := range t.Table.Columns {
		if c.In(where) {
			return c.Label
		}
	}
	return ""
}
