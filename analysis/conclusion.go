package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"nettoll/record"
	"nettoll/reference"
)

// Judgement is what figures show about a conclusion.
type Judgement int

const (
	CannotTell    Judgement = iota // too little was measured, or not precisely enough
	Holds                          // the figures show it
	DoesNotHold                    // the figures show the contrary
	NotMeasurable                  // no measurement can decide it
)

func (o Judgement) String() string {
	return [...]string{CannotTell: "cannot-tell", Holds: "holds", DoesNotHold: "does-not-hold", NotMeasurable: "not-measurable"}[o]
}

// Words returns a judgement as sentences begin with it.
func (o Judgement) Words() string {
	return [...]string{CannotTell: "not known here", Holds: "holds here", DoesNotHold: "does not hold here", NotMeasurable: "not measurable"}[o]
}

// MarshalText writes a judgement as machine-readable reports name it.
func (o Judgement) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// CheckedConclusion is a conclusion of a source, checked against the source's own figures and against those of the run.
type CheckedConclusion struct {
	Conclusion reference.Conclusion
	Published  Judgement // by the source's own figures
	Measured   Judgement // by those of the run
	Details    string    // what shows Measured, or why no measurement can, for example "true in 6 of 6 comparisons"
	Evidence   []string  // the figures behind it, one per line
}

// Text is one plain sentence, for example "holds here: …".
func (c CheckedConclusion) Text() string { return c.Measured.Words() + ": " + c.Details }

// MarshalJSON writes only the text of the conclusion.
func (c CheckedConclusion) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Text      string    `json:"text"`
		Published Judgement `json:"published"`
		Measured  Judgement `json:"measured"`
		Said      string    `json:"said,omitempty"`
		Evidence  []string  `json:"evidence,omitempty"`
	}{c.Conclusion.Text, c.Published, c.Measured, c.Text(), c.Evidence})
}

// checkConclusion does all checks of a conclusion twice: on the published figures, which are taken as exact, and on
// those of the run, where only what is certain at the level counts. The conclusion does not hold if one check fails.
func checkConclusion(c reference.Conclusion, tables []ReplicatedTable, conf judging) CheckedConclusion {
	out := CheckedConclusion{Conclusion: c}
	if len(c.Checks) == 0 {
		out.Published, out.Measured = NotMeasurable, NotMeasurable
		out.Details = c.Why
		return out
	}
	var published, measured []Judgement
	var details, standIns []string
	for _, k := range c.Checks {
		p := newJudge(k, tables, true, conf).run()
		m := newJudge(k, tables, false, conf).run()
		published, measured = append(published, p.outcome), append(measured, m.outcome)
		details, standIns = record.AddNew(details, m.text), record.AddNew(standIns, m.standIns...)
		out.Evidence = append(out.Evidence, m.evidence...)
	}
	out.Published, out.Measured = together(published), together(measured)
	out.Details = strings.Join(append(details, standIns...), "; ")
	switch out.Published {
	case DoesNotHold:
		out.Details += " (the source's own figures do not show it)"
	case CannotTell:
		out.Details += " (the source's own figures do not decide it)"
	}
	return out
}

// together combines the judgements of several checks.
func together(all []Judgement) Judgement {
	switch {
	case slices.Contains(all, DoesNotHold):
		return DoesNotHold
	case slices.Contains(all, CannotTell):
		return CannotTell
	}
	return Holds
}

// share judges by the number of cells that show it, that show the contrary, and that are open: it holds if
// enough show it already, and does not hold if there would be too few even if all open ones showed it.
func share(won, lost, open int, least float64) Judgement {
	need := cmp.Or(least, 1)*float64(won+lost+open) - 1e-9
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

// finding is the result of one check.
type finding struct {
	outcome  Judgement
	text     string
	evidence []string
	standIns []string // networks that were measured in place of others, as text
}

// judge does one check on the figures of one side: published or measured.
type judge struct {
	check     reference.Check
	tables    []ReplicatedTable
	published bool
	judging

	won, lost, open int
	same            int // of the open ones: those where the two are the same within the margin
	evidence        []string
}

func newJudge(k reference.Check, tables []ReplicatedTable, published bool, conf judging) *judge {
	return &judge{check: k, published: published, judging: conf, tables: record.Those(tables, func(t ReplicatedTable) bool {
		return len(k.Tables) == 0 || slices.Contains(k.Tables, t.Table.Name)
	})}
}

func (j *judge) run() finding {
	if why := j.unknown(); why != "" {
		return finding{text: why}
	}
	do, known := map[reference.CheckKind]func() finding{
		reference.Faster: j.faster, reference.Fastest: j.fastest, reference.Relative: j.relative,
		reference.Crossover: j.crossover, reference.Order: j.order,
	}[j.check.Kind]
	if !known {
		return finding{text: fmt.Sprintf("there is no check called %q", j.check.Kind)}
	}
	f := do()
	f.evidence, f.standIns = j.evidence, j.standIns()
	return f
}

// standIns lists the networks that stand in for networks of the check.
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
			if c.StandsIn() && named(c.Published.Network) {
				all = record.AddNew(all, fmt.Sprintf("%s stands in for %s", c.Cell.Network, c.Published.Network))
			}
		}
	}
	return all
}

// unknown returns why a network named by the check cannot be judged at all, or "".
func (j *judge) unknown() string {
	for _, network := range []string{j.check.Network, j.check.Against} {
		if network == "" || j.published {
			continue
		}
		why := ""
		for t, label := range j.places() {
			s := t.side(network, label, j.published)
			why = s.why
			if s.ok {
				why = ""
				break
			}
		}
		if why != "" {
			return network + " was not measured: " + why
		}
	}
	return ""
}

// places iterates over the labels of the columns that count, each with its table.
func (j *judge) places() iter.Seq2[ReplicatedTable, string] {
	return func(yield func(ReplicatedTable, string) bool) {
		for _, t := range j.tables {
			for _, c := range t.Table.Columns {
				counts := len(j.check.Where) == 0 || slices.ContainsFunc(j.check.Where, c.In)
				if counts && !yield(t, c.Label) {
					return
				}
			}
		}
	}
}

// all returns the number of comparisons counted.
func (j *judge) all() int { return j.won + j.lost + j.open }

// found returns the finding from the counted comparisons; it holds if at least the share least shows it.
func (j *judge) found(least float64, text string) finding {
	return finding{outcome: share(j.won, j.lost, j.open, least), text: text}
}

// counts returns in words what the cells showed.
func (j *judge) counts(what string) string {
	if j.all() == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	text := fmt.Sprintf("in %d of %d %s", j.won, j.all(), what)
	if j.same > 0 {
		text += fmt.Sprintf(", the same within %s in %d", Percent(j.margin), j.same)
	}
	if unknown := j.open - j.same; unknown > 0 {
		text += fmt.Sprintf(", not known in %d", unknown)
	}
	return text
}

// apart returns the text for a check without anything to compare.
func (j *judge) apart() string {
	return fmt.Sprintf("%s and %s were not measured as two networks at the same place", j.check.Network, j.check.Against)
}

// leave counts a comparison in which neither side is ahead.
func (j *judge) leave(c contest) {
	j.open++
	if c.level {
		j.same++
	}
}

// note keeps the figures of one comparison as evidence, next to the published ones.
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
	j.evidence = record.AddNew(j.evidence, fmt.Sprintf("%s %s, %s", what, c.text, told))
}

// contest compares two sides and keeps the figures.
func (j *judge) contest(t ReplicatedTable, a, b side) contest {
	c := compareSides(a, b, j.judging)
	j.note(t, a, b, c)
	return c
}

// between compares two networks at one place.
func (j *judge) between(t ReplicatedTable, label, a, b string) contest {
	return j.contest(t, t.side(a, label, j.published), t.side(b, label, j.published))
}

func (j *judge) faster() finding {
	count := func(c contest) {
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
	if len(j.check.Pairs) > 0 {
		for _, t := range j.tables {
			for _, network := range j.among(t) {
				for _, p := range j.check.Pairs {
					count(j.contest(t, t.side(network, labelIn(t, p.Ahead), j.published), t.side(network, labelIn(t, p.Behind), j.published)))
				}
			}
		}
	} else {
		for t, label := range j.places() {
			count(j.between(t, label, j.check.Network, j.check.Against))
		}
	}
	text := fmt.Sprintf("%s is ahead of %s %s", j.check.Network, j.check.Against, j.counts("places"))
	switch {
	case j.all() == 0:
		text = "no place has measurements of both sides"
	case len(j.check.Pairs) > 0:
		text = "true " + j.counts("comparisons")
	}
	return j.found(j.check.AtLeast, text)
}

func (j *judge) fastest() finding {
	var others []string
	level, ahead := false, false
	for t, label := range j.places() {
		rivals, least := 0, 1
		for _, network := range j.among(t) {
			if network == j.check.Network {
				continue
			}
			c := j.between(t, label, j.check.Network, network)
			if !c.known {
				continue
			}
			rivals++
			others = record.AddNew(others, network)
			if c.level {
				level = true
				continue
			}
			ahead = ahead || c.ahead > 0
			least = min(least, c.ahead)
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
	if len(others) == 0 {
		return j.found(j.check.AtLeast, "nothing was measured to compare it with")
	}
	if !ahead { // level with others is no loss, but with all of them everywhere it is not the fastest
		j.won, j.open, j.same = 0, j.open+j.won, j.same+j.won
	}
	how := "ahead of"
	if level && ahead {
		how = "ahead of, or level with,"
	}
	return j.found(j.check.AtLeast, fmt.Sprintf("%s is %s %s %s", j.check.Network, how, strings.Join(others, ", "), j.counts("places")))
}

func (j *judge) relative() finding {
	low, high := j.check.Ratio-j.check.Tolerance, j.check.Ratio+j.check.Tolerance
	var told []string
	for t, label := range j.places() {
		c := j.between(t, label, j.check.Network, j.check.Against)
		switch {
		case !c.known:
			continue
		case c.exact && c.low >= low && c.high <= high:
			j.won++
		case c.exact && (c.high < low || c.low > high):
			j.lost++
		default:
			j.open++
		}
		text := c.text
		if len(told) == 0 {
			text = fmt.Sprintf("%s has %s the %s of %s", j.check.Network, c.text, t.Kind.Title, j.check.Against)
		}
		told = append(told, text+" at "+label)
	}
	if len(told) == 0 {
		return j.found(j.check.AtLeast, j.apart())
	}
	return j.found(j.check.AtLeast, fmt.Sprintf("%s, while the source means %.3g to %.3g", strings.Join(told, ", "), low, high))
}

// among returns the networks of a table that the check is about.
func (j *judge) among(t ReplicatedTable) []string {
	if len(j.check.Among) > 0 {
		return j.check.Among
	}
	return t.Table.Networks()
}

// labelIn returns the label of the first column within a place.
func labelIn(t ReplicatedTable, where reference.Place) string {
	c, _ := record.First(t.Table.Columns, func(c reference.Place) bool { return c.In(where) })
	return c.Label
}

// crossover holds if the first network is certainly ahead somewhere and certainly behind further on, and
// never the other way round.
func (j *judge) crossover() finding {
	at := map[string][]string{}
	turned, before := false, false
	for t, label := range j.places() {
		is := "not known"
		switch c := j.between(t, label, j.check.Network, j.check.Against); {
		case !c.known:
			continue
		case c.ahead > 0:
			is = "ahead"
			turned = len(at["behind"]) > 0
		case c.ahead < 0:
			is = "behind"
			before = len(at["ahead"]) > 0
		case c.level:
			is = "level"
		}
		at[is] = append(at[is], label)
	}
	if len(at) == 0 {
		return finding{text: j.apart()}
	}
	var parts []string
	for _, is := range []string{"ahead", "behind", "level", "not known"} {
		if len(at[is]) > 0 {
			parts = append(parts, is+" at "+strings.Join(at[is], ", "))
		}
	}
	f := finding{text: fmt.Sprintf("against %s, %s is %s", j.check.Against, j.check.Network, strings.Join(parts, ", "))}
	switch {
	case turned, len(at["level"])+len(at["not known"]) == 0 && !before:
		f.outcome = DoesNotHold
	case before:
		f.outcome = Holds
	}
	return f
}

// order considers every two networks at the same place that differ in the source. A correlation of at least
// AtLeast means that a share of (1 + AtLeast)/2 of the pairs is in the published order; a pair without a
// certain order here could go either way.
func (j *judge) order() finding {
	if j.published {
		return finding{outcome: Holds, text: "as published"}
	}
	sum := tally{groups: map[string]bool{}}
	for _, t := range j.tables {
		sum.count(t.Cells, t.Table.Relative, func(c ReplicatedCell) string { return t.Table.Name + "/" + c.Published.Label })
	}
	for t, label := range j.places() {
		networks := j.among(t)
		for i, a := range networks {
			for _, b := range networks[i+1:] {
				j.pair(t, a, b, label)
			}
		}
	}
	text := "no two of the networks were measured at the same place"
	if j.all() > 0 {
		text = "the networks come in the published order " + j.counts("pairs")
		if c := sum.correlation(); c.Known {
			text += fmt.Sprintf(" (%s of the estimates is %s)", CorrelationName, strings.Replace(fmt.Sprintf("%.2f", c.Tau), "-", "−", 1))
		}
	}
	return j.found((1+j.check.AtLeast)/2, text)
}

// pair counts two networks at a place for or against the published order.
func (j *judge) pair(t ReplicatedTable, a, b, label string) {
	published := compareSides(t.side(a, label, true), t.side(b, label, true), judging{})
	if !published.known || published.ahead == 0 {
		return
	}
	switch c := j.between(t, label, a, b); {
	case !c.known:
	case c.ahead == 0:
		j.leave(c)
	case c.ahead == published.ahead:
		j.won++
	default:
		j.lost++
	}
}

// side is a network at a place: one end of a comparison.
type side struct {
	ok        bool
	why       string      // if not ok
	network   string      // as the source names it
	shown     string      // the same, with the network that stands in for it
	cell      record.Cell // measured
	label     string
	value     float64 // published, or the measured estimate
	figure    *Figure // measured
	better    record.Direction
	published bool
}

// side finds the figure of a network in a column, published or measured. In a table of relative figures the
// baseline has no cell.
func (t ReplicatedTable) side(network, label string, published bool) side {
	s := side{network: network, shown: network, label: label, better: t.Kind.Better, published: published, why: "not in the table"}
	c, found := record.First(t.Cells, func(c ReplicatedCell) bool { return c.Published.Label == label && c.Published.Network == network })
	implied := network == t.Table.Baseline && t.Table.Relative
	switch p := c.Published; {
	case found && published:
		s.ok, s.value, s.why = p.Given(), p.Value, p.Missing
		if t.Table.Relative {
			s.value = 1 + p.Value/100
		}
	case found:
		s.cell, s.why = c.Cell, c.Skipped
		if c.StandsIn() {
			s.shown += " (" + c.Cell.Network + ")"
		}
		s.measured(c.Measured)
	case implied && published:
		s.ok, s.value = true, 1
	case implied:
		s.why = NotInRun
		c, _ := record.First(t.Cells, func(c ReplicatedCell) bool { return c.Published.Label == label && c.base != nil })
		s.measured(c.base)
	}
	return s
}

// measured takes over a figure, if there is one.
func (s *side) measured(f *Figure) {
	if f != nil {
		s.ok, s.value, s.figure = true, f.Summary.Estimate, f
	}
}

// contest is the result of comparing two sides.
type contest struct {
	known            bool // both sides have figures of their own
	exact            bool // the interval has the level of the run; that of published figures is a point
	ahead            int  // 1: certainly the first side, by however little; −1: certainly the second
	level            bool // neither is ahead, and the two are the same within the margin
	ratio, low, high float64
	text             string
}

// compareSides compares a with b. Published figures are taken as exact.
func compareSides(a, b side, j judging) contest {
	ahead := 1 // for a greater value
	if a.better == record.LowerIsBetter {
		ahead = -1
	}
	switch {
	case !a.ok || !b.ok:
		return contest{}
	case a.published:
		c := contest{known: true, exact: true, ahead: cmp.Compare(a.value, b.value) * ahead, level: a.value == b.value}
		if b.value > 0 {
			c.ratio = a.value / b.value
			c.low, c.high = c.ratio, c.ratio
		}
		c.text = fmt.Sprintf("%.3g times", c.ratio)
		return c
	case a.cell == b.cell:
		return contest{} // the same network stands in for both
	}
	r := compare(pairFigures(a.figure, b.figure), a.better, j)
	if r == nil {
		return contest{}
	}
	c := contest{known: true, exact: r.Level > 0, ratio: r.Value, low: r.Low, high: r.High}
	switch {
	case !c.exact:
	case r.Low > 1:
		c.ahead = ahead
	case r.High < 1:
		c.ahead = -ahead
	}
	c.level = c.ahead == 0 && r.Outcome == Same
	if c.exact {
		c.text = fmt.Sprintf("%.3g times (%.3g to %.3g)", r.Value, r.Low, r.High)
	} else {
		c.text = fmt.Sprintf("%.3g times (too few common rounds to be sure: %d)", r.Value, r.N)
	}
	return c
}
