package analysis

import (
	"fmt"
	"strings"

	"nettoll/record"
)

// Codes of the warnings that analysis adds to those that trials carry.
const (
	WarnTooFewRounds  = "too-few-rounds"    // no interval or test at the level
	WarnNotPrecise    = "not-precise"       // a limit was reached before the wanted precision
	WarnNoNative      = "no-native"         // nothing to compare with
	WarnUnpaired      = "unpaired"          // rounds in which native is missing
	WarnNotMeasured   = "not-measured"      // planned, never tried
	WarnSteal         = "steal"             // the hypervisor took CPU time
	WarnDrift         = "drift"             // native has a trend
	WarnNoisy         = "noisy"             // native varies from round to round
	WarnOutliers      = "outliers"          // single values far from the others
	WarnDiffers       = "differs"           // endpoints are not set up as native's
	WarnFailed        = "failed-trials"     // some or all trials broke
	WarnInvalid       = "invalid-trials"    // some or all trials took another path
	WarnSkipped       = "skipped-trials"    // skipped in some rounds, measured in others
	WarnHistogram     = "corrupt-histogram" // latencies that cannot be read
	WarnUnknownMetric = "unknown-metric"    // figures that this version does not know
	WarnPlacement     = "placement"         // the scheduler chose the CPUs
	WarnTruncated     = "truncated"         // the last line is not whole
	WarnUnfinished    = "unfinished"        // the run did not end, or not as planned
	WarnEmulated      = "emulated"          // the machine's CPUs are a program
)

// Limits above which a doubt is worth a word.
const (
	stealLimit   = 0.02 // of the CPU time in the windows
	driftLevel   = 0.01 // p of the test for a trend
	driftLimit   = 0.10 // of the median, first round to last
	noisyLimit   = 0.20 // coefficient of variation
	outlierLimit = 0.25 // of the median: closer values are none, whatever their score
)

// carriedAdvice is what helps against a warning that trials carry.
func carriedAdvice(code string) string {
	switch code {
	case "generator-limited":
		return "the traffic generator, not the network, is the bottleneck: use more streams or clients, larger messages, or CPUs of their own for client and server"
	case "idle-was-busy", "foreign-cpu":
		return "stop other work on the machine, and measure again"
	case "foreign-packets":
		return "find out what else sends over the network (tcpdump), and measure again without it"
	case "not-silent":
		return "its figures contain what the network does by itself: find out what it sends (tcpdump), or measure with fewer neighbours"
	}
	return ""
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

func warnTooFewRounds(n, least int, level float64) Warning {
	return Warning{WarnTooFewRounds,
		fmt.Sprintf("too few rounds: %d, and %s confidence needs %d", n, percent(level), least),
		fmt.Sprintf("measure at least %d rounds (--min-rounds %d), or go on with this run (--resume)", least, least)}
}

func warnNotPrecise(k record.Kind, want float64, end string) Warning {
	when := map[string]string{
		record.EndMaxRounds:   "when the limit of rounds was reached",
		record.EndBudget:      "when the time was used up",
		record.EndInterrupted: "when the run was interrupted",
	}[end]
	if when == "" {
		when = "when the run stopped"
	}
	return Warning{WarnNotPrecise,
		fmt.Sprintf("%s is not known to the ±%s that was asked for %s", k.Title, percent(want), when),
		"allow more rounds (--max-rounds), ask for less (--precision), or give the machine less else to do"}
}

func warnNoNative(c record.Cell) Warning {
	return Warning{WarnNoNative,
		fmt.Sprintf("there is no measured trial of %s to compare with", native(c).Network),
		fmt.Sprintf("see why %s was not measured; without it nothing can be said about cost", BaselineName(c))}
}

func warnUnpaired(c record.Cell, missing, of int) Warning {
	return Warning{WarnUnpaired,
		fmt.Sprintf("in %d of %d rounds there is no %s trial to compare with", missing, of, BaselineName(c)),
		fmt.Sprintf("the ratio rests on the other rounds; see why %s was not measured in these", BaselineName(c))}
}

func warnNotMeasured() Warning {
	return Warning{WarnNotMeasured, "planned, but never tried", "go on with this run (--resume)"}
}

func warnSteal(share float64) Warning {
	return Warning{WarnSteal,
		fmt.Sprintf("the hypervisor took %s of the CPU time while this was measured", percent(share)),
		"measure when its other guests are quiet, or on a machine of your own"}
}

func warnDrift(c record.Cell, k record.Kind, change, p float64) Warning {
	return Warning{WarnDrift,
		fmt.Sprintf("%s of %s changed by %+.3g %% from the first round to the last (p=%.2g)", k.Title, BaselineName(c), 100*change, p),
		"ratios are paired by round and mostly free of it, absolute figures are not: let the machine settle, or look for throttling and other load"}
}

func warnNoisy(c record.Cell, k record.Kind, cv float64) Warning {
	return Warning{WarnNoisy,
		fmt.Sprintf("%s of %s varies by %s (standard deviation) from round to round", k.Title, BaselineName(c), percent(cv)),
		"stop other work on the machine, or measure more rounds"}
}

func warnOutliers(k record.Kind, n, of int) Warning {
	return Warning{WarnOutliers,
		fmt.Sprintf("%d of %d values of %s are outliers", n, of, k.Title),
		"medians and intervals stand them; look in the table of trials for when they were, and for what else ran then"}
}

func warnDiffers(c record.Cell, what []string) Warning {
	return Warning{WarnDiffers,
		"not set up as " + BaselineName(c) + ": " + strings.Join(what, ", "),
		"part of the difference may come from this rather than from the network; make them equal to tell which"}
}

// warnCarried repeats a warning of trials, in their last words.
func warnCarried(w record.Warning, n, of int) Warning {
	return Warning{w.Code, fmt.Sprintf("%s (in %d of %d trials)", w.Text, n, of), carriedAdvice(w.Code)}
}

// warnLost tells of trials without figures, with the reason of the last.
func warnLost(status record.Status, n, of int, reason, remedy string) Warning {
	code, did := WarnFailed, "failed"
	switch status {
	case record.Invalid:
		code, did = WarnInvalid, "did not take the intended path"
	case record.Skipped:
		code, did = WarnSkipped, "were skipped"
	}
	text := fmt.Sprintf("%d of %d trials %s", n, of, did)
	if reason != "" {
		text += ": " + reason
	}
	return Warning{code, text, remedy}
}

func warnHistogram(n, of int, why error) Warning {
	return Warning{WarnHistogram,
		fmt.Sprintf("latencies of %d of %d trials cannot be read and are left out of the distribution (%v)", n, of, why),
		"the run file was changed or damaged; the percentiles of the figures do not depend on it"}
}

func warnUnknownMetric(names []string) Warning {
	return Warning{WarnUnknownMetric,
		"figures are left out, since this version does not know them in this unit: " + strings.Join(names, ", "),
		"use the version of nettoll that wrote the run file"}
}

func warnPlacement() Warning {
	return Warning{WarnPlacement,
		"placement is free: the scheduler moves client and server between CPUs, which makes latency bimodal and a median of it a matter of luck",
		"use placement same or distinct"}
}

func warnEmulated() Warning {
	return Warning{WarnEmulated, "the machine is emulated in software: no figure here is one of performance",
		"measure on a machine, or under a hypervisor that uses it (KVM)"}
}

func warnTruncated(bytes int64) Warning {
	return Warning{WarnTruncated,
		fmt.Sprintf("the last line was never finished (%d bytes are left out): the process died while it wrote", bytes),
		"go on with this run (--resume)"}
}

func warnUnfinished(text string) Warning {
	return Warning{WarnUnfinished, text, "what was measured is sound; go on with this run (--resume) for the rest"}
}

func warnNoComparison(rounds, block int) Warning {
	return Warning{WarnTooFewRounds,
		fmt.Sprintf("nothing could be compared: %d rounds have both twins, one comparison needs %d", rounds, block),
		fmt.Sprintf("measure at least %d rounds (--min-rounds %d)", block, block)}
}
