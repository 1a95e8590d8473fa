package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// mostNamed is the largest number of networks that a heading names; with more it gives their number.
const mostNamed = 5

// heading describes what a run compared, so that reports of different runs differ in their first line.
func heading(res analysis.Result) string {
	compared, all := networksOf(res)
	switch {
	case len(all) == 0:
		return "A run without figures"
	case res.Run.Settings.SelfCheck:
		return "Self-check of " + namedOrCounted(all)
	case len(compared) == 0, res.Multiplicity.Primary == 0: // without a baseline, costs are not known
		return "Measurements of " + namedOrCounted(all)
	case len(compared) == 1:
		return "What " + compared[0] + " costs"
	}
	return "What " + namedOrCounted(compared) + " cost"
}

// pageTitle identifies a run in one line: its note, its networks, its start, and its file.
func pageTitle(res analysis.Result, file string) string {
	compared, all := networksOf(res)
	if len(compared) == 0 {
		compared = all
	}
	named := join(compared)
	if len(compared) > mostNamed {
		named = countOf(len(compared), "network")
	}
	parts := []string{res.Run.Note, named, started(res), file, "nettoll"}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// networksOf returns the networks that were compared with a baseline, and all that were
// measured, in the order of the report.
func networksOf(res analysis.Result) (compared, all []string) {
	for _, r := range res.Rows() {
		if r.Status != record.OK {
			continue
		}
		all = record.AddNew(all, r.Cell.Network)
		if !r.Native {
			compared = record.AddNew(compared, r.Cell.Network)
		}
	}
	return compared, all
}

// namedOrCounted names the networks if they are few, and otherwise gives their number.
func namedOrCounted(names []string) string {
	if len(names) > mostNamed {
		return countOf(len(names), "container network")
	}
	return enumerated(names)
}

// enumerated joins names as in a sentence.
func enumerated(names []string) string {
	if len(names) < 2 {
		return join(names)
	}
	last := len(names) - 1
	return join(names[:last]) + " and " + names[last]
}

// started returns the start of the run; empty if it is not known.
func started(res analysis.Result) string {
	if res.Run.Started.IsZero() {
		return ""
	}
	return res.Run.Started.UTC().Format("2006-01-02 15:04") + " UTC"
}

// grade rates the run as a whole: how many of its comparisons are decided, how precise the changes
// are, what disturbed the run, and the most useful advice. It is empty if nothing was to be compared.
func grade(res analysis.Result) string {
	m := res.Multiplicity
	var parts []string
	switch {
	case res.SelfCheck != nil:
		parts = []string{SelfChecked(*res.SelfCheck)}
	case m.Primary > 0:
		parts = []string{decided(m)}
	case m.Missing > 0:
		parts = []string{"Nothing was compared: " + uncompared(res)}
	default:
		return ""
	}
	if m.Primary > 0 && m.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d more %s not made.", m.Missing, oneOr(m.Missing, "was", "were")))
	}
	if half, most, n := res.Widths(); n > 0 && res.SelfCheck == nil {
		known := "Changes are known"
		if m.Untested > 0 {
			known = "Where there are enough rounds, changes are known"
		}
		half, most := analysis.Percent(upTwoDigits(half)), analysis.Percent(upTwoDigits(most))
		switch {
		case n == 1 || half == most:
			parts = append(parts, known+" to within ±"+most+".")
		default:
			parts = append(parts, known+" to within ±"+half+" (half of them) and ±"+most+" (all).")
		}
	}
	by := res.DisturbedBy()
	if len(by) > 0 {
		parts = append(parts, "Disturbed by "+strings.Join(record.Each(by, func(code string) string { return disturbances[code] }), " and by ")+".")
	}
	if slices.Contains(by, analysis.WarnBusy) {
		parts = append(parts, "On a busy machine, networks may differ less than on a quiet one.")
	}
	if res.SelfCheck != nil {
		return strings.Join(parts, " ") // it has its own advice
	}
	w, ok := record.First(rowWarnings(res), isOfTheRun) // too little time
	if ok = ok && res.Aim.Narrow < res.Aim.Asked; ok {
		parts = append(parts, advice(w))
	}
	few := func(w analysis.Warning) bool {
		return w.Code == analysis.WarnTooFewRounds || w.Code == analysis.WarnShort
	}
	if f, is := record.First(append(rowWarnings(res), res.Warnings...), few); is && (!ok || f.Code == analysis.WarnShort && !strings.Contains(w.Advice, "--")) {
		parts = append(parts, advice(f))
	}
	return strings.Join(parts, " ")
}

// uncompared says why nothing could be compared.
func uncompared(res analysis.Result) string {
	var lost []string
	measured, native := false, false
	for _, r := range res.Rows() {
		measured, native = measured || !r.Native && r.Status == record.OK, native || r.Native && r.Status == record.OK
		if r.Native && r.Status != record.OK {
			for _, a := range absencesOf(r) {
				lost = record.AddNew(lost, networkName(r.Cell)+": "+a.text())
			}
		}
	}
	switch {
	case len(lost) > 0:
		return strings.Join(lost, " ")
	case !measured && native:
		return "only what networks are compared with has trials with figures."
	case !measured:
		return "no network has a trial with figures."
	}
	if anyUnlike(res) {
		return "the windows of what would be compared had different lengths."
	}
	return "no round has figures of a network and of what it is compared with."
}

// advice is what a doubt advises, as a sentence, or what it says.
func advice(w analysis.Warning) string {
	return capital(strings.TrimRight(cmp.Or(w.Advice, w.Text), ".")) + "."
}

// decided reports how many comparisons are decided: different or the same.
func decided(m analysis.Multiplicity) string {
	n := m.Different + m.Same
	switch {
	case m.Primary == 1 && n == 1:
		return "The one primary comparison is decided."
	case m.Primary == 1:
		return "The one primary comparison is not decided."
	case m.Primary == 2 && n == 2:
		return "Both primary comparisons are decided."
	case n == m.Primary:
		return fmt.Sprintf("All %d primary comparisons are decided.", n)
	case m.Primary == 2 && n == 0:
		return "Neither of the two primary comparisons is decided."
	case n == 0:
		return fmt.Sprintf("None of %d primary comparisons is decided.", m.Primary)
	case n == 1:
		return fmt.Sprintf("1 of %d primary comparisons is decided.", m.Primary)
	}
	return fmt.Sprintf("%d of %d primary comparisons are decided.", n, m.Primary)
}

// upTwoDigits rounds up to two digits, so that the precision is never overstated.
func upTwoDigits(v float64) float64 {
	step := math.Pow10(int(math.Floor(math.Log10(v))) - 1)
	return math.Ceil(v/step-1e-9) * step
}

// disturbances are the words for what disturbs a run, by the codes of its caveats.
var disturbances = map[string]string{
	analysis.WarnBusy:         "other work all the time",
	record.WarnForeignCPU:     "other work on the machine",
	analysis.WarnSteal:        "other guests of the hypervisor",
	record.WarnIdleBusy:       "work while idle CPU use was measured",
	record.WarnForeignPackets: "packets from other sources",
	record.WarnNotSilent:      "networks that did not fall silent",
}

// isOfTheRun reports whether a doubt is shown once for the run instead of at each network.
func isOfTheRun(w analysis.Warning) bool { return w.Code == analysis.WarnNotPrecise }

func rowWarnings(res analysis.Result) (all []analysis.Warning) {
	for _, r := range res.Rows() {
		all = append(all, r.Warnings...)
	}
	return all
}
