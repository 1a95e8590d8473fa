package report

import (
	"cmp"
	"slices"

	"nettoll/analysis"
)

// noteKind says what a doubt is about.
type noteKind int

const (
	failures noteKind = iota // something was not measured, or broke
	setUp                    // networks or tools that are not set up alike, or limit what they measure
	noise                    // what varies by itself, and too few rounds to see through it
)

var noteTitles = []string{failures: "Failures", setUp: "Set-up", noise: "Noise"}

// noteKinds are the kinds of doubts by their codes. Tools have further codes of their own, which are about
// how they are set up.
var noteKinds = map[string]noteKind{
	analysis.WarnFailed: failures, analysis.WarnInvalid: failures, analysis.WarnSkipped: failures, analysis.WarnNotMeasured: failures,
	analysis.WarnNoNative: failures, analysis.WarnUnpaired: failures, analysis.WarnHistogram: failures, analysis.WarnUnknownMetric: failures,
	analysis.WarnTruncated: failures, analysis.WarnUnfinished: failures,
	"network-fault": failures, "container-cpu": failures, "wrong-checksums": failures, "mtu-black-hole": failures,

	analysis.WarnTooFewRounds: noise, analysis.WarnNotPrecise: noise, analysis.WarnShort: noise, analysis.WarnBusy: noise, analysis.WarnSteal: noise, analysis.WarnDrift: noise,
	analysis.WarnNoisy: noise, analysis.WarnOutliers: noise, analysis.WarnAlike: noise, analysis.WarnUncovered: noise, analysis.WarnUnstationary: noise,
	"foreign-cpu": noise, "foreign-packets": noise, "idle-was-busy": noise, "not-silent": noise, "starved-flows": noise, "cold-flows": noise,
	"maybe-stalled": noise,
}

func noteKindOf(w analysis.Warning) noteKind {
	if k, known := noteKinds[w.Code]; known {
		return k
	}
	return setUp
}

// newNotes numbers all doubts of a report: kind by kind, those of one code after each other, so that every
// format has the same numbers and lists them in order.
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

// noteGroup is what is to doubt of one kind.
type noteGroup struct {
	ID, Title string
	Notes     []numberedNote
	OfRun     []string // about the run as a whole, which nothing refers to
}

type numberedNote struct {
	Number int
	Text   string
}

// groups are all doubts of a report, each once, without kinds of which there are none.
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

// groupOf is where a note of some number stands.
func (n *notes) groupOf(number int) (id string) {
	if number < 1 || number > len(n.list) {
		return ""
	}
	return fileName(noteTitles[noteKindOf(n.list[number-1])])
}
