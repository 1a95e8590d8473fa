package analysis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nettoll/reference"
)

// Judgement says what figures say about a conclusion.
type Judgement int

const (
	CannotTell    Judgement = iota // too little was measured, or too unsurely
	Holds                          // the figures show it
	DoesNotHold                    // the figures show that it is not so
	NotMeasurable                  // no measurement can tell
)

func (o Judgement) String() string {
	return [...]string{CannotTell: "cannot-tell", Holds: "holds", DoesNotHold: "does-not-hold", NotMeasurable: "not-measurable"}[o]
}

// MarshalText writes a judgement as reports for programs have it.
func (o Judgement) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// CheckedConclusion is a conclusion of a source, checked against the source's
// own figures and against those of the run.
type CheckedConclusion struct {
	Conclusion reference.Conclusion
	Published  Judgement // by the source's own figures
	Measured   Judgement // by those of the run
	Text       string    // one sentence in plain words, such as "holds here: …"
	Evidence   []string  // the figures that say so, a line each
}

// MarshalJSON writes only the text of the conclusion.
func (c CheckedConclusion) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Text      string    `json:"text"`
		Published Judgement `json:"published"`
		Measured  Judgement `json:"measured"`
		Said      string    `json:"said,omitempty"`
		Evidence  []string  `json:"evidence,omitempty"`
	}{c.Conclusion.Text, c.Published, c.Measured, c.Text, c.Evidence})
}

// checkConclusion does all checks of a conclusion twice: on the published
// figures, which are taken as exact, and on those of the run, where only what is certain at
// the level counts. The conclusion does not hold if one check fails.
func checkConclusion(c reference.Conclusion, tables []ReplicatedTable, conf judging) CheckedConclusion {
	out := CheckedConclusion{Conclusion: c}
	if len(c.Checks) == 0 {
		out.Published, out.Measured = NotMeasurable, NotMeasurable
		out.Text = "no measurement can tell: " + c.Why
		return out
	}
	var published, measured []Judgement
	var details, standIns []string
	for _, k := range c.Checks {
		p := newJudge(k, tables, true, conf).run()
		m := newJudge(k, tables, false, conf).run()
		published, measured = append(published, p.outcome), append(measured, m.outcome)
		if !slices.Contains(details, m.text) {
			details = append(details, m.text)
		}
		for _, text := range m.standIns {
			if !slices.Contains(standIns, text) {
				standIns = append(standIns, text)
			}
		}
		out.Evidence = append(out.Evidence, m.evidence...)
	}
	out.Published, out.Measured = together(published), together(measured)
	out.Text = map[Judgement]string{
		CannotTell: "cannot be told here", Holds: "holds here", DoesNotHold: "does not hold here",
	}[out.Measured] + ": " + strings.Join(append(details, standIns...), "; ")
	switch out.Published {
	case DoesNotHold:
		out.Text += " (the source's own figures do not show it)"
	case CannotTell:
		out.Text += " (the source's own figures do not tell)"
	}
	return out
}

// together is what several checks say.
func together(all []Judgement) Judgement {
	switch {
	case slices.Contains(all, DoesNotHold):
		return DoesNotHold
	case slices.Contains(all, CannotTell):
		return CannotTell
	}
	return Holds
}

// share judges by how many cells show it, how many show the contrary, and how
// many are open: it holds if enough show it already, and does not if not enough
// could even if all open ones did.
func share(won, lost, open int, least float64) Judgement {
	if least == 0 {
		least = 1
	}
	need := least*float64(won+lost+open) - 1e-9
	switch {
	case won+lost+open == 0:
		return CannotTell
	case float64(won) >= need:
		return Holds
	case float64(won+open) < need:
		return DoesNotHold
	}
	return CannotTell
}

// finding is what one check found.
type finding struct {
	outcome  Judgement
	text     string
	evidence []string
	standIns []string // what was measured in the place of networks, in words
}

// judge does one check on one side's figures.
type judge struct {
	check     reference.Check
	tables    []ReplicatedTable
	published bool
	judging

	won, lost, open int
	same            int // of the open ones: the two are the same within the margin
	evidence        []string
}

func newJudge(k reference.Check, tables []ReplicatedTable, published bool, conf judging) *judge {
	j := &judge{check: k, published: published, judging: conf}
	for _, t := range tables {
		if len(k.Tables) == 0 || slices.Contains(k.Tables, t.Table.Name) {
			j.tables = append(j.tables, t)
		}
	}
	return j
}

func (j *judge) run() finding {
	if why := j.unknown(); why != "" {
		return finding{text: why}
	}
	var f finding
	switch j.check.Kind {
	case reference.Faster:
		f = j.faster()
	case reference.Fastest:
		f = j.fastest()
	case reference.Relative:
		f = j.relative()
	case reference.Crossover:
		f = j.crossover()
	case reference.Order:
		f = j.order()
	default:
		f.text = fmt.Sprintf("there is no check called %q", j.check.Kind)
	}
	f.evidence, f.standIns = j.evidence, j.standIns()
	return f
}

// standIns are the networks that stand in for networks that the check is about.
func (j *judge) standIns() (all []string) {
	if j.published || len(j.evidence) == 0 {
		return nil
	}
	named := func(network string) bool {
		if j.check.Network != "" && j.check.Against != "" {
			return network == j.check.Network || network == j.check.Against
		}
		return network == j.check.Network || len(j.check.Among) == 0 || slices.Contains(j.check.Among, network)
	}
	for _, t := range j.tables {
		for _, c := range t.Cells {
			text := fmt.Sprintf("%s stands in for %s", c.Cell.Network, c.Published.Network)
			if c.StandsIn() && named(c.Published.Network) && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// unknown says why a network that the check names cannot be judged at all.
func (j *judge) unknown() string {
	for _, network := range []string{j.check.Network, j.check.Against} {
		if network == "" || j.published {
			continue
		}
		why := ""
		for _, t := range j.tables {
			for _, label := range j.labels(t) {
				s := t.side(network, label, j.published)
				if s.ok {
					why = ""
					break
				}
				why = s.why
			}
			if why == "" {
				break
			}
		}
		if why != "" {
			return network + " was not measured (" + why + ")"
		}
	}
	return ""
}

// labels are the columns of a table that count.
func (j *judge) labels(t ReplicatedTable) []string {
	var out []string
	for _, c := range t.Table.Columns {
		if len(j.check.Where) == 0 || slices.ContainsFunc(j.check.Where, c.In) {
			out = append(out, c.Label)
		}
	}
	return out
}

// counts says in words what the cells showed.
func (j *judge) counts(what string) string {
	text := fmt.Sprintf("in %d of %d %s", j.won, j.won+j.lost+j.open, what)
	if j.same > 0 {
		text += fmt.Sprintf(", they are the same within %s in %d", Percent(j.margin), j.same)
	}
	if unknown := j.open - j.same; unknown > 0 {
		text += fmt.Sprintf(", and %d cannot be told", unknown)
	}
	return text
}

// leave counts a comparison in which neither side is ahead.
func (j *judge) leave(c contest) {
	j.open++
	if c.level {
		j.same++
	}
}

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

// among are the networks of a table that the check is about.
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

// crossover holds if the first network is certainly ahead somewhere and certainly
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

// order looks at every two networks at the same place that the source tells
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
	f := finding{outcome: share(j.won, j.lost, j.open, (1+j.check.AtLeast)/2), text: "no two of the networks were measured at one place"}
	if j.won+j.lost+j.open > 0 {
		f.text = "the networks come in the published order " + j.counts("pairs")
		if c := sum.correlation(); c.Known {
			f.text += fmt.Sprintf(" (%s of the estimates is %.2f)", CorrelationName, c.Tau)
		}
	}
	return f
}

// pair counts two networks at a place for or against the published order.
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
