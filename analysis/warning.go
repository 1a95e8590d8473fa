package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"nettoll/record"
)

// Codes of the warnings that analysis adds to those that trials carry.
const (
	WarnTooFewRounds  = "too-few-rounds"      // no interval or test at the level
	WarnNotPrecise    = "not-precise"         // a limit was reached before the wanted precision
	WarnShort         = "too-few-for-verdict" // no verdict among so many comparisons
	WarnNoNative      = "no-native"           // nothing to compare with
	WarnUnpaired      = "unpaired"            // rounds in which native is missing
	WarnNotMeasured   = "not-measured"        // planned, never tried
	WarnSteal         = "steal"               // the hypervisor took CPU time
	WarnBusy          = "busy-machine"        // other work had a good part of the CPUs all the time
	WarnDrift         = "drift"               // native has a trend
	WarnNoisy         = "noisy"               // native varies from round to round
	WarnOutliers      = "outliers"            // single values far from the others
	WarnDiffers       = "differs"             // endpoints are not set up as native's
	WarnFailed        = "failed-trials"       // some or all trials broke
	WarnInvalid       = "invalid-trials"      // some or all trials took another path
	WarnSkipped       = "skipped-trials"      // skipped in some rounds, measured in others
	WarnHistogram     = "corrupt-histogram"   // latencies that cannot be read
	WarnUnknownMetric = "unknown-metric"      // figures that this version does not know
	WarnPlacement     = "placement"           // the scheduler chose the CPUs
	WarnTruncated     = "truncated"           // the last line is not whole
	WarnUnfinished    = "unfinished"          // the run did not end, or not as planned
	WarnEmulated      = "emulated"            // the machine's CPUs are a program
	WarnAlike         = "autocorrelated"      // rounds are not independent
	WarnUncovered     = "uncovered"           // time in the window that no latency accounts for
	WarnUnstationary  = "not-stationary"      // the window is different at its end
)

// Limits above which a doubt is worth a word.
const (
	stealLimit   = 0.02 // of the CPU time in the windows
	busyLimit    = 0.10 // of the machine's CPUs, between trials
	driftLevel   = 0.01 // p of the test for a trend
	driftLimit   = 0.10 // of the median, first round to last
	noisyLimit   = 0.20 // coefficient of variation
	outlierLimit = 0.25 // of the median: closer values are none, whatever their score
)

// warnCold is the engine's about flows that had received nothing when the window opened.
const warnCold = "cold-flows"

// carriedAdvice is what helps against a warning that trials carry.
func carriedAdvice(code string) string {
	switch code {
	case "generator-limited":
		return "the traffic generator, not the network, is the bottleneck: use more streams or clients, larger messages, or CPUs of their own for client and server"
	case "starved-flows":
		return "such trials count with what came just after the window: stop other work on the machine, or measure longer windows (-t)"
	case "idle-was-busy", "foreign-cpu":
		return "stop other work on the machine, and measure again"
	case "foreign-packets":
		return "find out what else sends over the network (tcpdump), and measure again without it"
	case "not-silent":
		return "its figures contain what the network does by itself: find out what it sends (tcpdump), or measure with fewer neighbours"
	}
	return ""
}

// Percent writes a share in percent, to three digits.
func Percent(share float64) string {
	if p := 100 * share; math.Abs(p) >= 100 {
		return fmt.Sprintf("%.0f%%", p)
	}
	return fmt.Sprintf("%.3g%%", 100*share)
}

// bound is what ended a run.
type bound struct {
	end       string
	maxRounds int     // limit of rounds; 0 is none
	round     float64 // seconds that a round took on average; 0 where that is unknown
}

// more says which flags give a run so many rounds: those of what ended it, and no limit below.
func (b bound) more(rounds int) string {
	limit := ""
	if b.maxRounds > 0 && b.maxRounds < rounds {
		limit = fmt.Sprintf(" --max-rounds %d", rounds)
	}
	switch b.end {
	case record.EndPrecision:
		return fmt.Sprintf("ask for more rounds (--min-rounds %d%s)", rounds, limit)
	case record.EndBudget:
		if took := b.round * float64(rounds); took > 0 {
			return fmt.Sprintf("allow more time (--time-budget %s%s)", Budget(took), limit)
		}
		return "allow more time (--time-budget" + limit + ")"
	case record.EndMaxRounds:
		return fmt.Sprintf("allow more rounds (--max-rounds %d)", rounds)
	}
	return "go on with this run (--resume)"
}

// Budget writes seconds as a limit that holds them, with a tenth to spare.
func Budget(seconds float64) string {
	d := time.Duration(min(seconds*1.1, 1e9)) * time.Second
	switch {
	case d < time.Minute:
		return (d.Truncate(5*time.Second) + 5*time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix((d.Truncate(time.Minute) + time.Minute).String(), "0s")
	}
	return strings.TrimSuffix((d.Truncate(time.Hour) + time.Hour).String(), "0m0s")
}

func warnTooFewRounds(n, least int, level float64, more string) Warning {
	return Warning{WarnTooFewRounds,
		fmt.Sprintf("too few rounds: %d, and %s confidence needs %d", n, Percent(level), least), more}
}

// warnNotPrecise is in the same words for all rows that it holds for; how far each is off
// is in its Reached.
func warnNotPrecise(k record.Kind, in circumstances) Warning {
	when := map[string]string{
		record.EndMaxRounds:   "within the limit of rounds",
		record.EndBudget:      "before the time was used up",
		record.EndInterrupted: "before the run was interrupted",
	}[in.end]
	if when == "" {
		when = "before the run stopped"
	}
	advice := "reduce other load on the machine, or ask for less (--precision)"
	switch rounds := in.aim.Rounds; {
	case rounds > MostRounds:
		advice = fmt.Sprintf("the precision asked for would take more than %d rounds: %s", MostRounds, advice)
	case rounds > 0:
		advice = fmt.Sprintf("all of the run's figures would reach ±%s in about %d rounds: %s, %s", Percent(in.aim.Wanted), rounds, in.more(rounds), advice)
	}
	return Warning{WarnNotPrecise, fmt.Sprintf("%s did not reach the ±%s asked for %s", k.Title, Percent(in.aim.Wanted), when), advice}
}

// warnShort says that a run has too few rounds for its number of comparisons.
func warnShort(m Multiplicity, rounds int, more string) Warning {
	return Warning{WarnShort,
		fmt.Sprintf("%d rounds are too few for a verdict: among %d comparisons no difference, however large, is certain in fewer than %d",
			rounds, m.Primary, m.Least),
		more + ", or compare fewer networks at once"}
}

func warnNoNative(c record.Cell) Warning {
	return Warning{WarnNoNative,
		fmt.Sprintf("there is no measured trial of %s to compare with", c.Against().Network),
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
		fmt.Sprintf("the hypervisor took %s of the CPU time while this was measured", Percent(share)),
		"measure when its other guests are quiet, or on a machine of your own"}
}

func warnBusy(used float64, cpus int) Warning {
	return Warning{WarnBusy,
		fmt.Sprintf("other work had %.2g of the machine's %d CPUs between trials: a receiver that waits for a CPU is woken less often, so that networks may differ less from native than on a quiet machine", used, cpus),
		"stop other work on the machine, and measure again"}
}

func warnDrift(c record.Cell, k record.Kind, change, p float64) Warning {
	return Warning{WarnDrift,
		fmt.Sprintf("%s of %s changed by %+.3g%% from the first round to the last (p=%.2g)", k.Title, BaselineName(c), 100*change, p),
		"ratios are paired by round and mostly free of it, absolute figures are not: let the machine settle, or look for throttling and other load"}
}

func warnNoisy(c record.Cell, k record.Kind, cv float64, more string) Warning {
	return Warning{WarnNoisy,
		fmt.Sprintf("%s of %s varies by %s (standard deviation) from round to round", k.Title, BaselineName(c), Percent(cv)),
		"stop other work on the machine, or " + more}
}

// warnOutliers tells of single values far from the others, and whether the interval stands them.
func warnOutliers(k record.Kind, n, of int, stands bool) Warning {
	advice := "estimates and intervals are robust to so few"
	if !stands {
		advice = "with so few rounds an interval reaches as far as they do, and more rounds narrow it"
	}
	advice += "; the table of trials shows when they occurred"
	return Warning{WarnOutliers,
		fmt.Sprintf("%d of %d values of %s are outliers", n, of, k.Title),
		advice}
}

// offloads are those that --offload off turns off, as endpoints name them.
var offloads = []string{"tso", "gso", "gro", "lro", "tx-checksum", "rx-checksum", "udp-gso"}

// levelling names the flags that make endpoints alike in some of what differs.
func levelling(c record.Cell, what []string) string {
	differs := func(attribute string) bool {
		return slices.ContainsFunc(what, func(text string) bool { return strings.Contains(" "+text, " "+attribute+" ") })
	}
	var flags []string
	if !c.Normalize && (differs("MTU") || differs("MSS")) {
		flags = append(flags, "--normalize")
	}
	if c.Offload == "" && slices.ContainsFunc(offloads, differs) {
		flags = append(flags, "--offload off")
		if c.Native() == record.Native(1) { // whose loopback device does some of its own accord
			flags = append(flags, "--baseline veth")
		}
	}
	if c.Options.Congestion == "" && differs("congestion control") {
		flags = append(flags, "--congestion")
	}
	if len(flags) == 0 {
		return ""
	}
	return "measure with " + strings.Join(flags, " ")
}

func warnDiffers(c record.Cell, what []string) Warning {
	advice := "part of the difference may come from this rather than from the network"
	if remedy := levelling(c, what); remedy != "" {
		advice += "; " + remedy + " to rule that out"
	}
	return Warning{WarnDiffers, "not set up as " + BaselineName(c) + ": " + strings.Join(what, ", "), advice}
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
		"the run file was changed or damaged; of the figures only percentiles by time depend on it"}
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

func warnNoComparison(rounds, block int, more string) Warning {
	return Warning{WarnTooFewRounds,
		fmt.Sprintf("nothing could be compared: %d rounds have both twins, one comparison needs %d", rounds, block), more}
}
