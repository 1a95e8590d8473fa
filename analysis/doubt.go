package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"nettoll/plan"
	"nettoll/record"
)

// Codes of the warnings that analysis adds to those recorded in trials.
const (
	WarnTooFewRounds  = "too-few-rounds"         // no interval or test at the level
	WarnNotPrecise    = "not-precise"            // a limit was reached before the wanted precision
	WarnShort         = "too-few-for-verdict"    // no verdict possible among the number of comparisons
	WarnNoNative      = "no-native"              // nothing to compare with
	WarnUnpaired      = "unpaired"               // rounds in which native is missing
	WarnNotMeasured   = "not-measured"           // planned, never tried
	WarnSteal         = "steal"                  // the hypervisor took CPU time
	WarnBusy          = "busy-machine"           // other work used a large share of the CPUs throughout
	WarnDrift         = "drift"                  // native has a trend
	WarnNoisy         = "noisy"                  // native varies from round to round
	WarnOutliers      = "outliers"               // single values far from the others
	WarnDiffers       = "differs"                // endpoints are not set up like native's
	WarnFailed        = "failed-trials"          // some or all trials broke
	WarnInvalid       = "invalid-trials"         // some or all trials are invalid: their path is not proved, for example
	WarnSkipped       = "skipped-trials"         // skipped in some rounds, measured in others
	WarnHistogram     = "corrupt-histogram"      // latencies that cannot be read
	WarnUnknownMetric = "unknown-metric"         // figures that this version does not know
	WarnPlacement     = "placement"              // the scheduler chose the CPUs
	WarnTruncated     = "truncated"              // the last line is incomplete
	WarnUnfinished    = "unfinished"             // the run did not end, or not as planned
	WarnEmulated      = "emulated"               // the machine's CPUs are emulated in software
	WarnFrequency     = "frequency-follows-load" // the CPUs are the faster, the busier they are
	WarnAlike         = "autocorrelated"         // rounds are not independent
	WarnUncovered     = "uncovered"              // time in the window that no latency accounts for
	WarnUnstationary  = "not-stationary"         // the window differs between its beginning and its end
	WarnUnlike        = "unlike-machines"        // the ends are on machines of different kinds
	WarnMoved         = "moved"                  // the machines are not the same in all trials
	WarnElsewhere     = "elsewhere"              // the baseline was measured on other machines
	WarnVersions      = "several-versions"       // of nettoll measured the rounds
)

// Limits above which a doubt is reported.
const (
	stealLimit   = 0.02 // of the CPU time in the windows
	busyLimit    = 0.10 // of the machine's CPUs, between trials
	driftLevel   = 0.01 // p of the test for a trend
	driftLimit   = 0.10 // of the median, first round to last
	noisyLimit   = 0.20 // coefficient of variation
	outlierLimit = 0.25 // of the median: closer values are not outliers, whatever their score
)

// carriedAdvice is the advice for warnings recorded in trials.
var carriedAdvice = map[string]string{
	record.WarnGenerator:      "use larger messages, or several clients",
	record.WarnOwnControl:     "to compare tools under the same one, measure all under the machine's own (--congestion machine)",
	record.WarnStarved:        "stop other work on the machine, or ", // see longer
	record.WarnIdleBusy:       "stop other work on the machine, and measure again",
	record.WarnCPULate:        "stop other work on the machine, and measure again",
	record.WarnForeignCPU:     "stop other work on the machine, and measure again",
	record.WarnCPULimit:       "measure without it: docker run --cpus, --pod-cpus, limits of a pod or its namespace (LimitRange), CPUQuota of systemd",
	record.WarnForeignPackets: "find out what else sends over the network (tcpdump), and measure again without it",
	record.WarnNotSilent:      "its figures include what the network does by itself: find out what it sends (tcpdump)", // see carried
}

// Percent writes a share in percent, to three digits, and not in more detail than a thousandth of a percent.
func Percent(share float64) string {
	const least = 0.001
	switch p := math.Abs(100 * share); {
	case p >= 100:
		return fmt.Sprintf("%.0f%%", 100*share)
	case p > 0 && p < least:
		return fmt.Sprintf("<%v%%", least)
	}
	return fmt.Sprintf("%.3g%%", 100*share)
}

// signed writes a change in percent, with its sign, to three digits.
func signed(change float64) string {
	if change < 0 {
		return "−" + Percent(-change)
	}
	return "+" + Percent(change)
}

// bound describes what ended a run.
type bound struct {
	file      string // the run file's name; empty if it has none
	end       string
	gaveUp    bool    // all cells: a resumed run would end at once
	maxRounds int     // limit of rounds; 0 means none
	budget    float64 // limit of time of each process in seconds; 0 means none
	last      int     // round with a trial of any cell
	round     float64 // seconds per round on average; 0 if unknown
}

// boundOf returns what ended a run, without the time that its rounds took.
func boundOf(f *record.File) bound {
	end, _ := ending(f)
	return bound{
		file: f.Name, end: end.Reason, gaveUp: end.Reason == record.EndFailed && end.Detail == "",
		maxRounds: f.Limits().MaxRounds, budget: f.Limits().Budget,
	}
}

const anew = "mend what failed, and begin another run"

// more returns advice that gives a run this number of rounds: the flag for what ended the run, and those for limits that are lower.
func (b bound) more(rounds int) string {
	if b.gaveUp {
		return anew
	}
	rounds = min(rounds, MostRounds)
	limit := ""
	if b.maxRounds > 0 && b.maxRounds < rounds {
		limit = fmt.Sprintf(" --max-rounds %d", rounds)
	}
	took, left := b.round*float64(rounds), b.round*float64(rounds-b.last)
	within := func(took float64) string {
		if b.budget > 0 && took > b.budget {
			return " --time-budget " + Budget(took)
		}
		return ""
	}
	switch b.end {
	case record.EndPrecision:
		return fmt.Sprintf("ask for more rounds (--min-rounds %d%s%s)", rounds, limit, within(took))
	case record.EndBudget:
		if took > 0 {
			return fmt.Sprintf("allow more time (--time-budget %s%s)", Budget(took), limit)
		}
		return "allow more time (--time-budget" + limit + ")"
	case record.EndMaxRounds:
		return fmt.Sprintf("allow more rounds (--max-rounds %d%s)", rounds, within(took))
	}
	return b.resume(limit + within(left))
}

// resume returns advice to resume the run, with these flags, each after a blank.
func (b bound) resume(flags string) string {
	return "resume this run (--resume " + quoted(cmp.Or(b.file, "FILE")) + flags + ")"
}

// quoted returns the name of a file as a shell takes it.
func quoted(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("%+,-./:=@_", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// Budget formats seconds as the value of --time-budget that leaves a tenth to spare: none, where that is more than suites may ask for.
func Budget(seconds float64) string {
	d := time.Duration(min(seconds*1.1, 1e9)) * time.Second
	switch {
	case d >= plan.MostBudget:
		return "0 --yes"
	case d < time.Minute:
		return (d.Truncate(5*time.Second) + 5*time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix((d.Truncate(time.Minute) + time.Minute).String(), "0s")
	}
	return strings.TrimSuffix((d.Truncate(time.Hour) + time.Hour).String(), "0m0s")
}

// tookTurns reports whether trials were made of turns, whose length is fixed.
func tookTurns(trials []*record.Trial) bool {
	return slices.ContainsFunc(trials, func(t *record.Trial) bool { return len(t.Slices) > 0 })
}

// longer returns advice that makes the windows of trials longer.
func longer(trials []*record.Trial) string {
	if tookTurns(trials) {
		return "measure whole trials with longer windows (--turns=false -t)"
	}
	return "measure longer windows (-t)"
}

// warnings collects warnings one by one.
type warnings []Warning

func (all *warnings) add(code, advice, format string, args ...any) {
	*all = append(*all, Warning{code, fmt.Sprintf(format, args...), advice})
}

func warnTooFewRounds(n, least int, level float64, more string) Warning {
	return Warning{WarnTooFewRounds,
		fmt.Sprintf("too few rounds: %d, and %v confidence needs %d", n, plan.Ratio(level), least), more}
}

// More than mostHours, and mostTimes as many rounds as there were, are not advised in order to make figures more precise: such
// forecasts rest on a few figures that were far from the others, and something else than time helps.
const mostHours, mostTimes = 4, 20

// hours returns how long the rounds take that the requested precision needs.
func (in circumstances) hours() float64 { return in.round * float64(in.aim.Rounds) / 3600 }

// affordable reports whether reports advise so many rounds.
func (in circumstances) affordable() bool {
	return in.aim.Rounds <= MostRounds && (in.hours() <= mostHours || in.aim.Rounds <= mostTimes*in.last)
}

// longRun returns advice for what many rounds average out: as many as the requested precision needs, if that is known, so that all
// caveats of a report advise the same, and otherwise twice as many as there were.
func (in circumstances) longRun() string {
	if in.aim.Rounds > 0 && in.affordable() {
		return in.more(in.aim.Rounds)
	}
	return in.more(2 * in.last)
}

// warnNotPrecise has the same words for all rows that it applies to; how far each is off is in its Reached.
func warnNotPrecise(k record.Kind, in circumstances) Warning {
	when := cmp.Or(map[string]string{
		record.EndMaxRounds:   "within the limit of rounds",
		record.EndBudget:      "within the time budget",
		record.EndInterrupted: "before the run was interrupted",
	}[in.end], "before the run stopped")
	advice := "reduce other load on the machine, or ask for less precision (--precision)"
	switch rounds := in.aim.Rounds; {
	case rounds > MostRounds:
		advice = fmt.Sprintf("the requested precision would take more than %d rounds: %s", MostRounds, advice)
	case rounds > 0:
		all := "all of the run's figures"
		if n := in.aim.Unforeseen; n > 0 {
			all = fmt.Sprintf("all but %d of the run's figures", n)
		}
		how := ""
		if !in.affordable() {
			how = fmt.Sprintf(", which take %.0f hours", in.hours())
		} else {
			advice = in.more(rounds) + ", " + advice
		}
		advice = fmt.Sprintf("%s would reach ±%s in about %d rounds%s: %s", all, Percent(in.aim.Wanted), rounds, how, advice)
	}
	return Warning{WarnNotPrecise, fmt.Sprintf("%s did not reach the requested ±%s %s", k.Title, Percent(in.aim.Wanted), when), advice}
}

// offloads are the ones that --offload off turns off, under their names in endpoints.
var offloads = []string{"tso", "gso", "gro", "lro", "tx-checksum", "rx-checksum", "udp-gso"}

// levelling returns advice on flags that make the endpoints of a cell and of its baseline alike in some of the attributes that differ,
// as far as they are possible there, and which ones these are, unless they are all.
func levelling(c record.Cell, ends, baseEnds []record.Endpoint, what []difference, set record.Settings) string {
	fixed := slices.ContainsFunc(slices.Concat(ends, baseEnds), func(e record.Endpoint) bool { return e.Open })
	whole := func(ends []record.Endpoint) bool { // some offloads of other kinds of devices cannot be turned off
		return !slices.ContainsFunc(ends, func(e record.Endpoint) bool { return e.Driver != "veth" })
	}
	onHost := c.Native() == record.Native(1) // its loopback device does some offloads on its own
	differs := func(attribute string) bool {
		return slices.ContainsFunc(what, func(d difference) bool { return d.attribute == attribute })
	}
	var flags, alike []string
	level := func(flag string, attributes ...string) {
		flags, alike = append(flags, flag), append(alike, attributes...)
	}
	if !fixed && !c.Normalize && (differs("MTU") || differs("MSS")) {
		level("--normalize", "MTU", "MSS")
	}
	if !fixed && c.Offload == "" && slices.ContainsFunc(offloads, differs) && whole(ends) && (onHost || whole(baseEnds)) {
		level("--offload off", offloads...)
		if onHost {
			level("--baseline veth --hosts 1") // the run may have networks on two, which cannot be compared with veth
		}
	}
	if c.Options.Congestion == "" && differs("congestion control") {
		level("--congestion NAME", "congestion control", "net.ipv4.tcp_congestion_control")
	}
	if set.Turns && differs(cpuPackage) { // networks that stand alone are given the same CPUs
		level("--turns=false", cpuPackage)
	}
	if len(flags) == 0 {
		return ""
	}
	var ruled, left []string
	for _, d := range what {
		if slices.Contains(alike, d.attribute) {
			ruled = record.AddNew(ruled, d.attribute)
		} else {
			left = record.AddNew(left, d.attribute)
		}
	}
	out := "that out"
	if len(left) > 0 {
		out = "out " + strings.Join(ruled, " and ") + ", but not " + strings.Join(left, " and ")
	}
	return "measure with " + strings.Join(flags, " ") + " to rule " + out
}

// doubts returns the warnings about one row, the gravest first.
func doubts(row Row, c series, in circumstances) warnings {
	if len(c.trials) == 0 {
		return warnings{{WarnNotMeasured, "planned, but not tried", in.resume("")}}
	}
	out := lostDoubts(row.Lost, len(c.trials))
	if row.Status != record.OK {
		cause, _, found := strings.Cut(row.Reason, " (seen as: ")
		return append(out, slices.DeleteFunc(carried(c), func(w Warning) bool {
			return found && strings.HasPrefix(w.Text, cause) // the reason reports it already
		})...)
	}
	k, ok := c.primary(), c.ok()
	points, basePoints := c.points(k), c.base.points(k)

	least := record.LeastRounds(1, in.level)
	switch known := row.Reached; {
	case known.N < least:
		more := in.more(in.verdict + c.last() - known.N) // it has lost some
		if c.ended() {
			more = anew
		}
		out = append(out, warnTooFewRounds(known.N, least, in.level, more))
	case !known.Narrow && known.Wanted > 0 && !in.needed[c.cell]:
		w := warnNotPrecise(k, in)
		if c.ended() && in.aim.Rounds == 0 {
			w.Advice = anew
		}
		out = append(out, w)
	}
	if !row.Native {
		base := BaselineName(c.cell)
		switch missing := len(points) - len(pairUp(points, basePoints)); {
		case len(basePoints) == 0:
			out.add(WarnNoNative, "see why "+base+" was not measured; without it nothing can be said about cost",
				"there is no measured trial of %s to compare with", c.cell.Against().Network)
		case missing > 0 && missing == len(points):
			out.add(WarnNoNative, "see why "+base+" was not measured in these rounds; without it nothing can be said about cost",
				"no round has measured trials of both this network and %s", base)
		case missing > 0:
			out.add(WarnUnpaired, "the ratio rests on the other rounds; see why "+base+" was not measured in these",
				"in %d of %d rounds there is no %s trial to compare with", missing, len(points), base)
		}
		ends, flows := c.lastSetup()
		baseEnds, baseFlows := c.base.lastSetup()
		if d := differences(ends, flows, baseEnds, baseFlows); len(d) > 0 {
			advice := "part of the difference may come from this rather than from the network"
			if remedy := levelling(c.cell, ends, baseEnds, d, in.limits); remedy != "" {
				advice += "; " + remedy
			}
			texts := record.Each(d, func(one difference) string { return one.text })
			out.add(WarnDiffers, advice, "not set up like %s: %s", base, strings.Join(texts, ", "))
		}
		if elsewhere(ends, baseEnds, in.machine) {
			out.add(WarnElsewhere, "part of the difference can be that between the machines: name a network of the same machines to compare it with (--baseline), or measure it in a run of its own",
				"measured on %s, and %s on %s", namedMachines(ends), base, namedMachines(baseEnds))
		}
	}
	changed := changes(ok)
	if unlike := unlikeMachines(row.Endpoints, changed); len(unlike) > 0 {
		turn := "swapping the machines"
		if slices.Contains([]string{record.TCPStream, record.UDPStream}, c.cell.Workload) {
			turn = "-R"
		}
		out.add(WarnUnlike, "compare it only with what was measured between the same two machines, in the same direction; "+turn+" turns it round",
			"the ends are on machines of different kinds: %s", strings.Join(unlike, "; "))
	}
	if moved := movedMachines(changed); len(moved) > 0 {
		out.add(WarnMoved, "its figures mix both: measure it again in a run that stays where it is",
			"between its trials the machines changed: %s", strings.Join(moved, "; "))
	}
	out = append(out, carried(c)...)
	if s := stolen(ok, len(in.machine.CPUs)); s > stealLimit {
		out.add(WarnSteal, "measure when the other guests of the hypervisor are quiet, or on a dedicated machine",
			"the hypervisor took %s of the CPU time while this was measured", Percent(s))
	}
	out = append(out, unsteady(row, k, points, in)...)
	trend := slices.ContainsFunc(out, func(w Warning) bool { return w.Code == WarnDrift })
	out = append(out, alike(row, k, points, basePoints, trend, in)...)
	out = append(out, uncovered(ok)...)
	if moving := unstationary(k, ok); len(moving) > 0 {
		out = append(slices.DeleteFunc(out, func(w Warning) bool { return w.Code == record.WarnCold }), moving...) // this is more specific
	}
	if names := unknown(ok); len(names) > 0 {
		out.add(WarnUnknownMetric, "use the version of nettoll that wrote the run file",
			"figures are left out, since this version does not know them in this unit: %s", strings.Join(names, ", "))
	}
	return out
}

// Lost is what happened to the trials of a cell that have the same status, which is not OK, for the same reason.
type Lost struct {
	Status         record.Status
	Trials         int
	Reason, Remedy string // of the last of them
}

// numbered are words with numbers, in which reasons that are the same can differ: amounts, addresses, names.
var numbered = regexp.MustCompile(`\S*\d\S*`)

// lost gathers the trials without figures by their status and then by their reasons, the most frequent first.
func lost(c series) (all []Lost) {
	for _, status := range []record.Status{record.Failed, record.Invalid, record.Skipped} {
		of := record.Those(c.trials, func(t *record.Trial) bool { return t.Status == status })
		var some []Lost
		for _, same := range record.Gather(of, func(t *record.Trial) string { return numbered.ReplaceAllString(t.Reason, "#") }) {
			last := same[len(same)-1]
			some = append(some, Lost{status, len(same), last.Reason, last.Remedy})
		}
		slices.SortStableFunc(some, func(a, b Lost) int { return b.Trials - a.Trials })
		all = append(all, some...)
	}
	return all
}

// lostDoubts returns the warnings about trials without figures, of this many in all. A cell that was skipped in every
// round has none: its row gives the reason.
func lostDoubts(all []Lost, of int) (out warnings) {
	doubts := map[record.Status]struct{ code, did string }{
		record.Failed:  {WarnFailed, "failed"},
		record.Invalid: {WarnInvalid, "invalid"},
		record.Skipped: {WarnSkipped, "skipped"},
	}
	for _, l := range all {
		if l.Status == record.Skipped && l.Trials == of {
			continue
		}
		d := doubts[l.Status]
		text := ofTrials(l.Trials, of) + " " + d.did
		if l.Reason != "" {
			text += ": " + l.Reason
		}
		out = append(out, Warning{d.code, text, l.Remedy})
	}
	return out
}

// statements are codes of warnings under which trials say different things, each of which is worth a doubt. Texts of
// other codes say the same in other words from trial to trial, such as which processes were busy.
var statements = []string{record.WarnFault, record.WarnPathFound, record.WarnPathNotClaimed, record.WarnPathUnproved, record.WarnRemark}

// telling are codes under which networks have different doubts.
var telling = append(slices.Clone(statements), WarnDiffers, WarnFailed, WarnInvalid, WarnSkipped, WarnUnlike, WarnMoved, WarnElsewhere)

// Telling reports whether doubts of a code differ in what they say: one cannot stand for another of the same code, as with
// those that differ in amounts or in the processes that they name.
func Telling(code string) bool { return slices.Contains(telling, code) }

// carried merges the warnings of trials by code, in the order in which they first appear, with the texts of the last
// trial that has the code, or all texts of statements. The numbers in a text are ranges over all trials that say the same.
func carried(c series) (out warnings) {
	type of struct {
		trial int
		shape string
		record.Warning
	}
	var all []of
	for i, t := range c.trials {
		for _, w := range t.Warnings {
			all = append(all, of{i, Shape(w.Text), w})
		}
	}
	for _, same := range record.Gather(all, func(w of) string { return w.Code }) {
		trials := record.Gather(same, func(w of) int { return w.trial })
		said := trials[len(trials)-1]
		if slices.Contains(statements, same[0].Code) {
			said = same
		}
		texts := record.Gather(said, func(w of) string { return w.shape })
		advice := carriedAdvice[same[0].Code]
		switch {
		case same[0].Code == record.WarnStarved:
			advice += longer(c.trials)
		case same[0].Code == record.WarnNotSilent && c.cell.Neighbours > 0:
			advice += ", or measure with fewer neighbours"
		}
		for _, text := range texts {
			alike := record.Those(same, func(w of) bool { return w.shape == text[0].shape })
			merged, n := alike[0].Text, len(trials) // the text of a warning can differ from trial to trial
			if len(texts) > 1 {
				n = len(record.Gather(alike, func(w of) int { return w.trial }))
			}
			for _, w := range alike[1:] {
				merged = Merged(merged, w.Text)
			}
			out.add(same[0].Code, advice, "%s (in %s)", merged, ofTrials(n, len(c.trials)))
		}
	}
	return out
}

// ofTrials says how many of all trials, such as "3 of 8 trials".
func ofTrials(n, all int) string {
	if all == 1 {
		return "1 of 1 trial"
	}
	return fmt.Sprintf("%d of %d trials", n, all)
}

// unsteady examines how a metric behaves over the rounds.
func unsteady(row Row, k record.Kind, points []Point, in circumstances) (out warnings) {
	if row.Native && len(points) >= 4 {
		base := BaselineName(row.Cell)
		if p := trendP(points); p < driftLevel {
			if change := trendChange(points); change > driftLimit || change < -driftLimit {
				out.add(WarnDrift, "ratios are paired by round and mostly unaffected, absolute figures are not: let the machine settle, or look for throttling and other load",
					"%s of %s changed by %s from the first round to the last (p=%.2g)", k.Title, base, signed(change), p)
			}
		}
		if cv := variation(values(points)); cv > noisyLimit {
			out.add(WarnNoisy, "stop other work on the machine, or "+in.longRun(),
				"%s of %s varied by %s (standard deviation) from round to round", k.Title, base, Percent(cv))
		}
	}
	if far, n := len(outliers(points, outlierLimit)), len(points); far > 0 {
		advice := "estimates and intervals are robust to so few"
		switch {
		case n < record.LeastRounds(1, in.level):
			advice = "there are too few rounds for an interval"
		case !withstands(n, far, in.level):
			advice = "with so few rounds an interval extends as far as the outliers, and more rounds narrow it"
		}
		// In words that suit every number: reports merge doubts that differ only in it.
		out.add(WarnOutliers, advice+"; the table of trials on the page shows when they occurred", "outliers of %s: %d of %d values", k.Title, far, n)
	}
	return out
}

// stolen is the mean over trials of the share of the CPU time of their windows that the
// hypervisor took, of several machines from the one of which it took most. cpus is the number of CPUs of the machine, for trials
// that do not list them.
func stolen(trials []*record.Trial, cpus int) float64 {
	var sum float64
	n := 0
	for _, t := range trials {
		if t.CPU == nil || t.Window <= 0 || !t.CPU.Machine.Known() {
			continue
		}
		if len(t.CPU.Machine.PerCPU) > 0 {
			cpus = len(t.CPU.Machine.PerCPU)
		}
		share := t.CPU.Machine.Steal / t.Window / float64(max(1, cpus))
		if hosts := record.Gather(t.CPU.Machine.PerCPU, func(c record.CPUSample) string { return c.Host }); len(hosts) > 1 {
			share = record.Most(hosts, func(own []record.CPUSample) float64 {
				return record.Sum(own, func(c record.CPUSample) float64 { return c.Steal }) / t.Window / float64(len(own))
			})
		}
		sum += min(1, max(0, share))
		n++
	}
	return sum / float64(max(1, n))
}

// unknown names the metrics of trials that have no kind, or another unit than their kind.
func unknown(trials []*record.Trial) []string {
	names := map[string]bool{}
	for _, t := range trials {
		for name, m := range t.Metrics {
			if k, ok := record.KindOf(name); !ok {
				names[name] = true
			} else if !usable(k, m) {
				names[fmt.Sprintf("%s in %q", name, m.Unit)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// leastCovered is the share of the window that transactions of a closed loop should cover.
// On a quiet machine it is 0.99 or more; the rest is transactions across its edges.
const leastCovered = 0.98

// uncovered returns doubts about trials whose latencies do not cover the whole window.
func uncovered(trials []*record.Trial) []Warning {
	known := record.Those(record.Each(trials, func(t *record.Trial) float64 { return t.Covered }), func(share float64) bool { return share > 0 })
	short := record.Those(known, func(share float64) bool { return share < leastCovered })
	if len(short) == 0 {
		return nil
	}
	return []Warning{{WarnUncovered,
		fmt.Sprintf("in %s the counted transactions cover less than %s of the window, as little as %s: the rest was spent in slow ones that began before it, on lost datagrams, or waiting for a CPU",
			ofTrials(len(short), len(known)), Percent(leastCovered), Percent(math.Floor(1000*slices.Min(short)+1e-9)/1000)), // rounded up, it could be as much as the limit
		"the slowest are missing from the percentiles: " + longer(trials) + ", or stop other work on the machine"}}
}
