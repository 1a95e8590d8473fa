package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/analysis"
	"nettoll/internal/oneline"
	"nettoll/plan"
	"nettoll/record"
)

// machine describes in one line the machine of the run.
func machine(m record.Machine) string {
	var parts phrases
	parts.add(m.OS != "", m.OS)
	parts.add(m.Kernel != "", strings.TrimSpace("kernel "+m.Kernel+" "+m.Arch))
	parts.add(len(m.CPUs) > 0, strings.TrimSpace(fmt.Sprintf("%d %s %s", len(m.CPUs), plural(len(m.CPUs), "CPU"), m.CPUModel)))
	parts.add(m.MemoryB >= 1<<30, fmt.Sprintf("%.0f GiB", float64(m.MemoryB)/(1<<30)))
	parts.add(m.MemoryB > 0 && m.MemoryB < 1<<30, fmt.Sprintf("%.0f MiB", float64(m.MemoryB)/(1<<20)))
	parts.add(m.Virtual == record.Emulated, "emulated machine")
	parts.add(m.Virtual != "" && m.Virtual != record.Emulated, "virtual machine")
	parts.add(m.Power.Frequency() != "", "cpufreq "+m.Power.Frequency())
	parts.add(m.Power.Idle() != "", "cpuidle "+m.Power.Idle())
	parts.add(!m.Root && m.OS != "", "not root")
	return cmp.Or(join(parts), "a machine that the run file does not describe")
}

// machines returns the machines that were measured.
func machines(res analysis.Result) []record.Machine {
	if !res.Elsewhere {
		return []record.Machine{res.Run.Machine}
	}
	var all []record.Machine
	for _, r := range res.Rows() {
		for _, e := range r.Endpoints {
			if e.Machine != nil {
				all = append(all, *e.Machine)
			}
		}
	}
	return record.Each(record.Gather(all, machine), func(alike []record.Machine) record.Machine { return alike[0] })
}

// ofMachines returns a fact about the machines that were measured, if it is the same for all.
func ofMachines(res analysis.Result, fact func(record.Machine) string) string {
	if alike := record.Gather(machines(res), fact); len(alike) == 1 {
		return fact(alike[0][0])
	}
	return ""
}

// ranOn describes the machine and the platforms of the networks.
func ranOn(res analysis.Result) string {
	var parts []string
	if !res.Elsewhere {
		parts = append(parts, machine(res.Run.Machine))
	}
	for _, r := range res.Rows() {
		for _, e := range r.Endpoints {
			if on := placeOf(e); on != "" {
				parts = record.AddNew(parts, on)
			}
		}
	}
	if res.Elsewhere {
		parts = append(parts, "nettoll itself ran on "+machine(res.Run.Machine))
	}
	return strings.Join(parts, "; ")
}

// placeOf describes the platform of an endpoint and, if that may be another than the run's, its machine.
func placeOf(e record.Endpoint) string {
	if e.Machine == nil {
		return e.Platform
	}
	var parts phrases
	parts.add(true, machine(*e.Machine))
	if e.Resources != nil {
		parts.add(true, resources(e))
	}
	if n := e.NIC; n != nil {
		text := "network card " + n.Device
		var facts phrases
		facts.add(n.Driver != "", n.Driver)
		facts.add(n.Speed > 0, n.Rate())
		facts.add(n.Receive > 0, countOf(n.Receive, "receive queue"))
		if len(facts) > 0 {
			text += " (" + join(facts) + ")"
		}
		parts.add(true, text)
	}
	return cmp.Or(e.Platform, e.Host, e.Name) + ": " + join(parts)
}

// resources describes what the container of an endpoint is given.
func resources(e record.Endpoint) string {
	given := func(kind string, of map[string]string) string {
		var all []string
		for _, what := range slices.Sorted(maps.Keys(of)) {
			all = append(all, what+" "+of[what])
		}
		if all == nil {
			return "no " + kind
		}
		return kind + " " + strings.Join(all, " and ")
	}
	text := given("requests", e.Resources.Requests) + ", " + given("limits", e.Resources.Limits)
	if maps.Equal(e.Resources.Requests, e.Resources.Limits) {
		text = given("requests and limits", e.Resources.Limits)
	}
	if e.OwnCPUs() != nil {
		text += ", and CPUs of its own"
	}
	return "its pod has " + text
}

// rounds describes how much was measured.
func rounds(res analysis.Result) string {
	s := res.Limits
	text := countOf(res.Rounds, "complete round")
	if s.Duration > 0 {
		least := ""
		if s.Turns { // trials have whole turns
			least = "at least "
		}
		text += fmt.Sprintf(", %s%s s per trial", least, short(s.Duration))
		if windows := longerWindows(res); len(windows) > 0 {
			text += " (" + strings.Join(windows, "; ") + ")"
		}
		switch {
		case s.Warmup > 0 && s.Turns:
			text += fmt.Sprintf(", in turns where traffic can pause between them, otherwise after %s s of warm-up", short(s.Warmup))
		case s.Turns:
			text += ", in turns where traffic can pause between them"
		case s.Warmup > 0:
			text += fmt.Sprintf(" after %s s of warm-up", short(s.Warmup))
		}
		if s.Turns && s.Together > 0 {
			text += ", at most " + countOf(s.Together, "network") + " at once beside the baseline"
		}
	}
	if res.Elapsed > 0 {
		text += ", " + seconds(res.Elapsed) + " in all"
	}
	return capital(text) + "."
}

// longerWindows returns the tools whose trials were longer than the run's settings say, with their windows: most programs accept
// whole seconds only. Those of the engine are as long as the settings say, or in turns a little longer; a baseline has more turns.
func longerWindows(res analysis.Result) (all []string) {
	const longer = 1.2
	var names []string
	window := map[string]float64{}
	for _, r := range res.Rows() {
		if tool := r.Cell.Tool; tool != "engine" && r.Window > longer*res.Limits.Duration {
			names, window[tool] = record.AddNew(names, tool), max(window[tool], r.Window)
		}
	}
	long := func(tool string) string { return oneline.Number(window[tool], 2) + " s" }
	return record.Each(record.Gather(names, long), func(alike []string) string { return long(alike[0]) + " with " + enumerated(alike) })
}

// ending describes why the run stopped, and how far it came.
func ending(res analysis.Result) string {
	text, known := map[string]string{
		record.EndPrecision:   "Stopped at the requested precision",
		record.EndMaxRounds:   "Stopped at the limit of rounds",
		record.EndBudget:      "Stopped at the time budget",
		record.EndInterrupted: "Stopped by the user",
		record.EndFailed:      "Stopped because nothing more could be measured",
		"":                    "Did not finish cleanly; the results up to that point are shown",
	}[res.End]
	switch s := res.Limits; {
	case !known:
		text = "Stopped: " + res.End
	case res.End == record.EndPrecision && res.Aim.Narrow < res.Aim.Asked:
		text = "Stopped when all that could still be measured had reached the requested precision"
	case res.End == record.EndMaxRounds && s.MaxRounds > 0:
		text += fmt.Sprintf(" (%d)", s.MaxRounds)
	case res.End == record.EndBudget && s.Budget > 0:
		text += " (" + seconds(s.Budget) + ")"
	}
	if res.EndDetail != "" {
		text += ": " + strings.TrimRight(res.EndDetail, ".")
	}
	if how := precision(res); how != "" {
		text += "; " + how
	}
	return text + "."
}

// precision reports how many primary figures reached the requested precision.
func precision(res analysis.Result) string {
	a := res.Aim
	if a.Wanted <= 0 || a.Asked == 0 {
		return ""
	}
	reached := fmt.Sprintf("%d of %d", a.Narrow, a.Asked)
	if a.Narrow == a.Asked {
		reached = "all " + strconv.Itoa(a.Asked)
		switch a.Asked {
		case 1:
			reached = "the one"
		case 2:
			reached = "both"
		}
	}
	text := reached + " primary " + plural(a.Asked, "figure") + " reached ±" + analysis.Percent(a.Wanted)
	all := "all of them"
	switch {
	case a.Unforeseen > 0 && a.Narrow > 0:
		all = fmt.Sprintf("all others but %d", a.Unforeseen)
	case a.Unforeseen > 0:
		all = fmt.Sprintf("all but %d of them", a.Unforeseen)
	case a.Asked == 1:
		all = "it"
	case a.Narrow == a.Asked-1:
		all = "the other one"
	case a.Narrow > 0:
		all = "the others"
	}
	switch {
	case a.Rounds > analysis.MostRounds:
		text += fmt.Sprintf("; %s would need more than %s rounds", all, count(analysis.MostRounds))
	case a.Rounds > 0 && a.Seconds > 0:
		text += fmt.Sprintf("; %s would need about %s rounds, which take about %s", all, count(uint64(a.Rounds)), about(a.Seconds))
	}
	return text
}

// about formats a duration, rounded more coarsely the longer it is.
func about(s float64) string {
	d := time.Duration(s) * time.Second
	switch {
	case s >= 48*3600:
		return count(uint64(s/86400+0.5)) + " days"
	case s >= 3600:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}

// legend explains the signs in tables. narrow says that these have no room for some intervals.
func legend(res analysis.Result, narrow bool) string {
	if res.Level == 0 || len(res.Scenarios) == 0 {
		return ""
	}
	where := ""
	if narrow {
		where = ", where there is room for them"
	}
	return fmt.Sprintf("Figures and changes are shown with their %s intervals%s (± is the greater half); changes are paired by round. The sign = means the same within %s (the whole interval lies within that), ? means not known, and untested and %s mean too few rounds.",
		plan.Ratio(res.Level), where, analysis.Percent(res.Margin), noSpread)
}

// multiplicity reports how many comparisons were made, how many of them chance alone would
// mark as different, and which claims hold for all of them together.
func multiplicity(res analysis.Result) string {
	m := res.Multiplicity
	if m.Primary == 0 {
		return ""
	}
	level := plan.Ratio(res.Level).String() // analysis.Percent would make 99.99% certain
	var text string
	if m.Comparisons > 0 {
		text = fmt.Sprintf("%s at %s each: about %s would be marked as different by chance if all networks were equal. ",
			capital(countOf(m.Comparisons, "comparison")), level, strconv.FormatFloat(m.Expected, 'f', decimalsFor(m.Expected, 1), 64))
	}
	var verdicts phrases
	verdicts.add(m.Different > 0, fmt.Sprintf("%d different", m.Different))
	verdicts.add(m.Same > 0, fmt.Sprintf("%d the same within %s", m.Same, analysis.Percent(res.Margin)))
	verdicts.add(m.NotKnown > 0, fmt.Sprintf("%d not known", m.NotKnown))
	verdicts.add(m.Untested > 0, fmt.Sprintf("%d untested", m.Untested))
	text += fmt.Sprintf("The verdicts rest on %s (%s of each network): %s.",
		oneOr(m.Primary, "one primary comparison", fmt.Sprintf("the %d primary comparisons", m.Primary)), enumerated(primaryTitles(res)), join(verdicts))
	if m.Untested == m.Primary {
		return text
	}
	var joint phrases
	joint.add(m.Different > 0, "that they claim")
	joint.add(costsDiffer(res), "in CPU cost ("+countOf(m.Costs, "comparison")+")")
	ends := slices.ContainsFunc(res.Scenarios, func(s analysis.Scenario) bool { return slices.ContainsFunc(s.Extremes, analysis.Extreme.Shown) })
	joint.add(ends && slices.ContainsFunc(apart(res), func(g group) bool { return len(g.sentences()) > mostSentences }),
		"between the first or last network and the next ("+countOf(m.Extremes, "comparison")+")")
	if len(joint) == 0 {
		return text
	}
	text += " The differences " + strings.Join(joint, " and those ") + " hold jointly at " + level + " (Holm)"
	if len(joint) > 1 {
		text += ", each family separately"
	}
	return text + "."
}

// costsDiffer reports whether any CPU cost is different, by the comparisons of that family.
func costsDiffer(res analysis.Result) bool {
	for _, r := range res.Rows() {
		for _, name := range []string{record.CPUPerGB, record.CPUPerTransaction} {
			if f, ok := r.Figure(name); ok && f.Ratio != nil && !f.Ratio.Primary && f.Ratio.Verdict == analysis.Different {
				return true
			}
		}
	}
	return false
}

// boldRemark explains bold changes.
const boldRemark = "A change in bold is a primary difference that holds jointly with all others; changes of the CPU cost are a family of their own, and all others are descriptive only."

// primaryTitles returns the titles of the metrics that have verdicts.
func primaryTitles(res analysis.Result) (titles []string) {
	for _, r := range res.Rows() {
		for _, f := range r.Figures {
			if c := f.Comparison(); c != nil && c.Primary {
				titles = record.AddNew(titles, f.Kind.Title)
			}
		}
	}
	return titles
}

func wasRun(res analysis.Result) string {
	var parts phrases
	parts.add(res.Run.Suite != "", "suite "+res.Run.Suite)
	parts.add(started(res) != "", started(res))
	parts.add(res.Run.Version != "", "nettoll "+res.Run.Version)
	parts.add(res.Run.ID != "", "run "+res.Run.ID)
	return join(parts)
}

func short(v float64) string { return oneline.Number(v, 3) }

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
