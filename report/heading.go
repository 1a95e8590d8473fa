package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// mostNamed is the largest number of networks that a heading names; with more it gives their number.
const mostNamed = 5

// heading says what a run compared, so that reports of different runs can be told apart by their first line.
func heading(res analysis.Result) string {
	compared, all := networksOf(res)
	switch {
	case len(all) == 0:
		return "A run without figures"
	case res.Run.Settings.SelfCheck:
		return "Self-check of " + namedOrCounted(all)
	case len(compared) == 0:
		return "Measurements of " + namedOrCounted(all)
	case len(compared) == 1:
		return "What " + compared[0] + " costs"
	}
	return "What " + namedOrCounted(compared) + " cost"
}

// pageTitle identifies a run in one line: its note, its networks, when it began, and its file.
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

// networksOf are the networks that were measured beside a baseline, and all that were measured, in the order of the
// report.
func networksOf(res analysis.Result) (compared, all []string) {
	for _, r := range res.Rows() {
		if r.Status != record.OK {
			continue
		}
		all = appendNew(all, r.Cell.Network)
		if !r.Native {
			compared = appendNew(compared, r.Cell.Network)
		}
	}
	return compared, all
}

// namedOrCounted names few networks, and counts many.
func namedOrCounted(names []string) string {
	if len(names) > mostNamed {
		return countOf(len(names), "container network")
	}
	return enumerated(names)
}

// enumerated joins names as a sentence does.
func enumerated(names []string) string {
	if len(names) < 2 {
		return join(names)
	}
	last := len(names) - 1
	return join(names[:last]) + " and " + names[last]
}

// started is when the run began; empty where that is not known.
func started(res analysis.Result) string {
	if res.Run.Started.IsZero() {
		return ""
	}
	return res.Run.Started.UTC().Format("2006-01-02 15:04") + " UTC"
}
