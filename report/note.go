package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// notes numbers warnings; the same warning has the same number wherever it appears. Warnings
// that differ only in counts and amounts are merged into one, which gives their range.
type notes struct {
	list []analysis.Warning
	at   map[noteKey]int  // index in list, whose order must not change any more; nil until the first lookup
	told map[noteKey]bool // shown by tables of single scenarios, so that sweeps need not repeat it
}

func (n *notes) number(w analysis.Warning) int {
	if n.at == nil {
		n.at = map[noteKey]int{}
		for i, have := range n.list {
			n.at[keyOf(have)] = i
		}
	}
	i, known := n.at[keyOf(w)]
	if !known {
		n.list = append(n.list, w)
		n.at[keyOf(w)] = len(n.list) - 1
		return len(n.list)
	}
	if have := &n.list[i]; have.Text != w.Text {
		have.Text = analysis.Merged(have.Text, w.Text)
	}
	return i + 1
}

// marks returns the numbers of all warnings of a line, each once.
func (n *notes) marks(l line) []int {
	var marks []int
	for _, row := range l.planned() {
		for _, w := range row.Warnings {
			if !isOfTheRun(w) {
				marks = record.AddNew(marks, n.number(w))
			}
		}
	}
	slices.Sort(marks)
	return marks
}

// superscript formats marks as raised digits.
func superscript(marks []int) string {
	raised := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	raise := func(r rune) rune { return raised[r-'0'] }
	return strings.Join(record.Each(marks, func(m int) string { return strings.Map(raise, strconv.Itoa(m)) }), " ")
}

func sentenceOf(w analysis.Warning) string {
	text := strings.TrimRight(w.Text, ". ")
	if !beginsWithName(text) {
		text = capital(text)
	}
	if w.Advice == "" {
		return text + "."
	}
	advice := strings.TrimRight(w.Advice, ". ")
	switch w.Code {
	case analysis.WarnFailed, analysis.WarnInvalid, analysis.WarnSkipped:
		return text + ". Fix: " + advice + "."
	}
	return text + ". " + capital(advice) + "."
}

// beginsWithName reports whether the first word of a text is a name, for example of a host or a device.
func beginsWithName(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	return strings.HasSuffix(first, "'s") || strings.HasSuffix(first, ":") || strings.ContainsAny(first, "0123456789/_")
}

func capital(s string) string {
	for i, r := range s {
		return strings.ToUpper(string(r)) + s[i+len(string(r)):]
	}
	return s
}

// absence describes why a network has no figures, or not all.
type absence struct {
	Network  string // one or several
	workload string // empty if it holds for every workload of the group
	status   string // what happened, in words
	reason   string
	remedy   string
	counted  string // the number of trials, if only some are missing
}

// absences lists what is missing from a group and why; the same reason for every workload is given once.
func (g group) absences() []absence {
	var all []absence
	for _, l := range g.lines {
		var own []absence
		for i, row := range l.rows {
			if row == nil {
				continue
			}
			for _, a := range absencesOf(*row) {
				a.Network, a.workload = l.name, g.scenarios[i].Cell.Workload
				own = append(own, a)
			}
		}
		anywhere := func(a absence) absence {
			a.workload = ""
			return a
		}
		for _, same := range record.Gather(own, anywhere) {
			if len(same) == len(g.scenarios) {
				same = []absence{anywhere(same[0])}
			}
			all = append(all, same...)
		}
	}
	return gathered(all)
}

// gathered merges the absences of networks that are missing for the same reason.
func gathered(all []absence) (out []absence) {
	reason := func(a absence) absence {
		a.Network = ""
		return a
	}
	for _, same := range record.Gather(all, reason) {
		a := same[0]
		for _, other := range same[1:] {
			a.Network += ", " + other.Network
		}
		out = append(out, a)
	}
	return out
}

// absencesOf describes what is missing from a row: one absence for each status other than OK, and each reason.
func absencesOf(row analysis.Row) (all []absence) {
	total := 0
	for _, n := range row.Counts {
		total += n
	}
	for _, l := range row.Lost {
		a := absence{status: string(l.Status), reason: l.Reason, remedy: l.Remedy}
		if l.Trials < total {
			a.counted = strconv.Itoa(l.Trials) + " of " + strconv.Itoa(total) + " trials"
		}
		all = append(all, a)
	}
	if len(all) == 0 && row.Status != record.OK {
		all = []absence{{status: rowStatus(row), reason: row.Reason, remedy: row.Remedy}}
	}
	return all
}

// rowStatus returns in words what happened to a cell without figures.
func rowStatus(row analysis.Row) string { return cmp.Or(string(row.Status), "not tried") }

// Why describes the absence without its remedy.
func (a absence) Why() string {
	a.remedy = ""
	return a.text()
}

// Remedy returns the remedy as a separate sentence. It can be a command, which must not be capitalized.
func (a absence) Remedy() string {
	if a.remedy == "" {
		return ""
	}
	return "Fix: " + a.remedy
}

// text describes the absence in one sentence after the network's name.
func (a absence) text() string {
	what := a.status
	if a.counted != "" {
		what = a.counted + " " + what
	}
	if a.workload != "" {
		what = "(" + a.workload + ") " + what
	}
	if a.reason != "" {
		what += ": " + a.reason
	}
	if a.remedy != "" {
		what += "; fix: " + a.remedy
	}
	return strings.TrimRight(what, ".") + "."
}

// noteKind is the subject of a doubt.
type noteKind int

const (
	failures noteKind = iota // something was not measured, or broke
	setUp                    // networks or tools that are not set up alike, or limit the measurement
	noise                    // variation, and too few rounds to see through it
)

var noteTitles = []string{failures: "Failures", setUp: "Set-up", noise: "Noise"}

// noteKinds maps codes of doubts to their kinds. Other codes, most of them of tools, concern what is set up.
var noteKinds = map[string]noteKind{
	analysis.WarnFailed: failures, analysis.WarnInvalid: failures, analysis.WarnSkipped: failures, analysis.WarnNotMeasured: failures,
	analysis.WarnNoNative: failures, analysis.WarnUnpaired: failures, analysis.WarnHistogram: failures, analysis.WarnUnknownMetric: failures,
	analysis.WarnTruncated: failures, analysis.WarnUnfinished: failures,
	record.WarnFault: failures, record.WarnContainerCPU: failures, record.WarnNodeDaemonCPU: failures, record.FoundChecksums: failures, record.FoundBlackHole: failures,
	record.FoundTracking: failures, record.FoundNeighbours: failures,

	analysis.WarnTooFewRounds: noise, analysis.WarnNotPrecise: noise, analysis.WarnShort: noise, analysis.WarnBusy: noise, analysis.WarnSteal: noise, analysis.WarnDrift: noise,
	analysis.WarnNoisy: noise, analysis.WarnOutliers: noise, analysis.WarnAlike: noise, analysis.WarnUncovered: noise, analysis.WarnUnstationary: noise,
	record.WarnForeignCPU: noise, record.WarnForeignPackets: noise, record.WarnIdleBusy: noise, record.WarnCPULate: noise, record.WarnNotSilent: noise, record.WarnSilenceUnknown: noise,
	record.WarnStarved: noise, record.WarnCold: noise, record.WarnStalled: noise,
}

func noteKindOf(w analysis.Warning) noteKind {
	if k, known := noteKinds[w.Code]; known {
		return k
	}
	return setUp
}

// newNotes numbers all doubts of a report by kind, and within a kind by code, so that every
// format has the same numbers in ascending order.
func newNotes(res analysis.Result) *notes {
	var met notes
	for _, g := range apart(res) {
		for _, l := range g.lines {
			met.marks(l)
		}
	}
	met.told = map[noteKey]bool{}
	for _, w := range met.list {
		met.told[keyOf(w)] = true
	}
	sweeps, _ := shownSweeps(res.Sweeps)
	sweepMarks(sweeps, &met)
	agreementSections(res, &met)
	first := map[string]int{}
	for i, w := range met.list {
		if _, known := first[w.Code]; !known {
			first[w.Code] = i
		}
	}
	slices.SortStableFunc(met.list, func(a, b analysis.Warning) int {
		return cmp.Or(cmp.Compare(noteKindOf(a), noteKindOf(b)), cmp.Compare(first[a.Code], first[b.Code]))
	})
	met.at = nil
	return &met
}

// noteGroup has all doubts of one kind.
type noteGroup struct {
	ID, Title string
	Notes     []numberedNote
	OfRun     []string // about the run as a whole, without references
}

type numberedNote struct {
	Number int
	Text   string
}

// groups returns all doubts of a report, each once, by kind. Kinds without doubts are left out.
func (n *notes) groups(res analysis.Result) []noteGroup {
	var all []noteGroup
	for kind, title := range noteTitles {
		g := noteGroup{ID: fileName(title), Title: title}
		for i, w := range n.list {
			if noteKindOf(w) == noteKind(kind) {
				g.Notes = append(g.Notes, numberedNote{i + 1, sentenceOf(w)})
			}
		}
		for _, w := range res.Warnings {
			if noteKindOf(w) == noteKind(kind) {
				g.OfRun = append(g.OfRun, sentenceOf(w))
			}
		}
		if len(g.Notes)+len(g.OfRun) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// groupOf returns the id of the group of a note.
func (n *notes) groupOf(number int) string {
	return fileName(noteTitles[noteKindOf(n.list[number-1])])
}

// noteKey is a doubt without its counts and amounts.
type noteKey struct{ code, text, advice string }

func keyOf(w analysis.Warning) noteKey { return noteKey{w.Code, analysis.Shape(w.Text), w.Advice} }

// sweepMarks numbers the doubts of each sweep's networks. Doubts with the same code are one, in the words of the first cell, unless
// they say different things or the tables of single scenarios have shown all of them.
func sweepMarks(sweeps []analysis.Sweep, n *notes) []map[string][]int {
	type doubt struct {
		sweep   int
		network string
		cell    record.Cell
		analysis.Warning
	}
	var all []doubt
	marks := make([]map[string][]int, len(sweeps))
	for i, s := range sweeps {
		marks[i] = map[string][]int{}
		for l, row := range s.Rows() {
			for _, w := range row.Warnings {
				if !isOfTheRun(w) && inTable(s, l) { // why there is none is said beside the tables
					all = append(all, doubt{i, l.Network, row.Cell, w})
				}
			}
		}
	}
	alike := func(d doubt) noteKey {
		if analysis.Telling(d.Code) {
			return keyOf(d.Warning)
		}
		return noteKey{code: d.Code, advice: d.Advice}
	}
	numbers := map[noteKey]int{}
	for _, same := range record.Gather(all, alike) {
		if !slices.ContainsFunc(same, func(d doubt) bool { return !n.told[keyOf(d.Warning)] }) {
			continue
		}
		w := same[0].Warning
		if cells := record.Gather(same, func(d doubt) record.Cell { return d.cell }); len(cells) > 1 {
			w.Text = strings.TrimRight(w.Text, ". ") + fmt.Sprintf("; similar in %d cells in all", len(cells))
		}
		numbers[alike(same[0])] = n.number(w)
	}
	for _, d := range all {
		k, known := numbers[alike(d)]
		if !known {
			k = n.number(d.Warning)
		}
		marks[d.sweep][d.network] = record.AddNew(marks[d.sweep][d.network], k)
		slices.Sort(marks[d.sweep][d.network])
	}
	return marks
}
