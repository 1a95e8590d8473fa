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

// CheckedConclusion is a conclusion of a source, held against both the source's
// own figures and those of the run.
type CheckedConclusion struct {
	Conclusion reference.Conclusion
	Published  Judgement // by the source's own figures
	Measured   Judgement // by those of the run
	Text       string    // one sentence in plain words, such as "holds here: …"
	Evidence   []string  // the figures that say so, a line each
}

// MarshalJSON writes of the conclusion no more than its text.
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
// figures, which are taken as exact, and on those of the run, of which only what
// is sure at the level counts. One check that fails is enough to say no.
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
	standIns []string // what was measured in the place of techniques, in words
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

// standIns are the networks that stand in for techniques that the check is about.
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

// unknown says why a technique that the check names cannot be judged at all.
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
