// Package analysis turns the trials of a run file into figures with intervals, comparisons with native and
// verdicts. It is pure: the same run file always gives the same result, and nothing in it reads a clock or a file.
package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/internal/oneline"
	"nettoll/record"
	"nettoll/reference"
)

// Result is everything that reports show about a run file. Most of it is written to JSON unchanged.
type Result struct {
	Run       record.Run
	Elsewhere bool            // only other machines than the one that nettoll ran on were measured
	Limits    record.Settings // in force at the end: of the run, or of the last process that resumed it
	Level     float64         // of every interval and test
	Margin    float64         // differences up to this share of the baseline count as none
	Finished  time.Time       // when the run ended or, if it did not end in an orderly way, its last trial; zero if there is none
	Elapsed   float64         // seconds that all processes together worked on the run
	End       string          // why the run ended (record.End…), or "" if it did not end in an orderly way
	EndDetail string
	Rounds    int // complete rounds: every cell still to be measured has a trial
	Scenarios []Scenario
	Settlings []Settling
	InForce   []InForce
	NodeUses  []NodeUse    // of the nodes of a cluster of the user's
	Warnings  []Warning    // of the run as a whole
	SelfCheck *FalseAlarms // nil if the run is none

	// Results drawn from several rows together.
	Multiplicity Multiplicity
	Aim          Aim
	Agreements   []Agreement
	Sweeps       []Sweep
	Prices       []PerPrice
	Replications []Replication
}

// Rows iterates over all rows of a result, each with its scenario.
func (res Result) Rows() iter.Seq2[Scenario, Row] {
	return func(yield func(Scenario, Row) bool) {
		for _, s := range res.Scenarios {
			for _, r := range s.Rows {
				if !yield(s, r) {
					return
				}
			}
		}
	}
}

// Scenario holds cells that may be compared: the same traffic, hosts, address
// family and placement over different networks.
type Scenario struct {
	record.Cell            // without a network
	Namespaces  Namespaces `json:"hosts_are,omitempty"`
	Rows        []Row      `json:"networks"`           // the baseline first, the others in the order of the plan
	Extremes    []Extreme  `json:"extremes,omitempty"` // which networks are first and last, where that is tested
}

// Namespaces reports that a scenario has several hosts, and that they are namespaces of one machine without a
// network card between them.
type Namespaces bool

func (n Namespaces) String() string {
	if n {
		return "namespaces of one machine"
	}
	return ""
}

// MarshalText writes the name for hosts that share a machine.
func (n Namespaces) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// Row is the result of one cell.
type Row struct {
	Cell    record.Cell           `json:"-"`
	Native  bool                  `json:"native"`
	Status  record.Status         `json:"status"`           // OK if at least one trial is; otherwise that of the last trial
	Reason  string                `json:"reason,omitempty"` // of the last trial that is not OK
	Remedy  string                `json:"remedy,omitempty"`
	Counts  map[record.Status]int `json:"trials"`
	Lost    []Lost                `json:"-"`                    // one for each status other than OK that trials have, and each reason, the gravest status first
	Figures []Figure              `json:"metrics"`              // in the order of record.Kinds
	CPU     []Figure              `json:"cpu,omitempty"`        // CPU use in the window, in the order of CPUKinds; empty if it was not recorded
	Costs   []Figure              `json:"cpu_cost,omitempty"`   // CPU use per amount moved, in the order of CPUKinds; see costs
	InUse   *Figure               `json:"cpu_in_use,omitempty"` // CPU use over idle in the window; nil if it was not recorded
	Reached Reached               `json:"-"`                    // how well the primary metric is known
	Limit   Limit                 `json:"-"`                    // what limits its stream
	// Latency is the merged histogram of all OK trials, in nanoseconds; nil if the workload has none. Its
	// percentiles differ from those in Figures: these are computed per trial, so that they have intervals and
	// pairs, and reports show their estimate.
	Latency   *hdrhistogram.PackedHistogram `json:"-"`
	Path      []record.Hop                  `json:"-"` // of the last trial with figures that has one, or of the last one
	Endpoints []record.Endpoint             `json:"-"` // of the last trial with figures that has any, or of the last one
	Warnings  []Warning                     `json:"-"`

	Apart  bool          `json:"-"` // the hosts were separate machines, and CPU has all of them
	Window float64       `json:"-"` // measured seconds per trial, median
	Flows  []record.Flow `json:"-"` // of the last OK trial that has any
	// ClientCPUs and ServerCPUs are the CPUs that the processes of the last OK trial were allowed to run on;
	// empty means any CPU, or not recorded.
	ClientCPUs, ServerCPUs []int `json:"-"`
}

// MarshalJSON writes a row without its traffic, which its scenario has. Lists are never null.
func (r Row) MarshalJSON() ([]byte, error) {
	type row Row
	if r.Counts == nil {
		r.Counts = map[record.Status]int{}
	}
	r.Figures = listed(r.Figures)
	return json.Marshal(struct {
		Network string `json:"network"`
		Twin    int    `json:"twin,omitempty"`
		row
		Follows   bool              `json:"cpu_cost_follows_throughput,omitempty"`
		Reached   Reached           `json:"precision,omitzero"`
		LimitedBy string            `json:"limited_by,omitempty"`
		Latency   *percentiles      `json:"merged_latency,omitempty"`
		Path      []record.Hop      `json:"path"`
		Endpoints []record.Endpoint `json:"endpoints"`
		Warnings  []Warning         `json:"warnings"`
	}{r.Cell.Network, r.Cell.Twin, row(r), r.CostFollows(), r.Reached, r.Limit.By, percentilesOf(r.Latency), listed(r.Path), listed(r.Endpoints), listed(r.Warnings)})
}

// listed returns a list that JSON does not write as null.
func listed[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// Figure finds a metric in the row. The throughput of a single client is also its throughput per client.
func (r Row) Figure(metric string) (Figure, bool) {
	if f, ok := figureOf(r.Figures, metric); ok {
		return f, true
	}
	if metric != record.ThroughputPerClient || r.Cell.Pairs() != 1 {
		return Figure{}, false
	}
	f, ok := r.Figure(record.Throughput)
	f.Kind, _ = record.KindOf(metric)
	return f, ok
}

// Primary returns the figure that the row is ranked by: the first of its workload's primary metrics that it has.
func (r Row) Primary() (Figure, bool) {
	for _, name := range record.Ranked(r.Cell.Workload) {
		if f, ok := r.Figure(name); ok {
			return f, true
		}
	}
	return Figure{}, false
}

// Load finds a figure of CPU use in the row.
func (r Row) Load(name string) (Figure, bool) {
	return figureOf(r.CPU, name)
}

func figureOf(all []Figure, name string) (Figure, bool) {
	return record.First(all, func(f Figure) bool { return f.Kind.Name == name })
}

// Figure is one metric of a row.
type Figure struct {
	record.Kind
	Summary
	// Ratio is the figure ÷ baseline; nil for the baseline itself, without pairs, if a value is 0, and for what depends on
	// the length of the window if the baseline's windows have another one.
	Ratio *Comparison `json:"vs_native,omitempty"`
	// Difference from the baseline is shown instead of the ratio for metrics that are shares themselves (unit
	// "ratio") and where a value is 0; for times it is given as well. It is nil for all other metrics.
	Difference *Comparison `json:"difference,omitempty"`
	Unlike     bool        `json:"-"` // it is not compared in some rounds, since it depends on the length of the window
	Points     []Point     `json:"-"` // the values, in the order of rounds

	cell record.Cell
	base []Point // of the baseline beside the cell, see series.beside
	// whole are the same in all slices of the baseline.
	whole []Point
}

// Comparison returns the comparison that is shown, ratio or difference; nil if there is neither.
func (f Figure) Comparison() *Comparison {
	if f.Difference != nil && (f.Ratio == nil || f.Kind.Unit == "ratio") {
		return f.Difference
	}
	return f.Ratio
}

// Point is one value and the round it was measured in.
type Point struct {
	Round int
	Value float64
}

// Warning is a doubt about the figures, with advice.
type Warning struct {
	Code   string `json:"code"`             // for programs
	Text   string `json:"text"`             // what is doubtful
	Advice string `json:"advice,omitempty"` // what would help
}

// Analyze computes everything that reports show about a run file. All figures are finite.
//
// Every single interval and test is at the level of the run (Settings.Confidence); verdicts take the number
// of comparisons into account, see giveVerdicts.
func Analyze(f *record.File) Result {
	completed := *f
	completed.Trials = slices.Clone(f.Trials)
	for i := range completed.Trials {
		CompleteTrial(&completed.Trials[i])
	}
	return AnalyzeCompleted(&completed)
}

// AnalyzeCompleted is like Analyze, for a file whose trials are complete; see CompleteTrial.
func AnalyzeCompleted(f *record.File) Result {
	all := collect(f.Run.Cells, f.Trials)
	res := Result{Run: f.Run, Elsewhere: !f.Here(), Limits: f.Limits(), Finished: lastEnd(f.Trials), Elapsed: f.Spent, Rounds: completeRounds(all, f.Limits())}
	res.Level, res.Margin = level(res.Limits), equalWithin(res.Limits)
	if e, ok := ending(f); ok {
		res.End, res.EndDetail, res.Finished = e.Reason, e.Detail, e.Finished
	}
	in := newCircumstances(f, all)
	res.Aim = in.aim
	for _, rows := range record.Gather(newRows(all, in), func(r Row) record.Cell { return r.Cell.Scenario() }) {
		slices.SortStableFunc(rows, func(a, b Row) int { return nativeFirst(a.Native, b.Native) })
		res.Scenarios = append(res.Scenarios, Scenario{Cell: rows[0].Cell.Scenario(), Rows: rows})
	}
	res.Relate()
	res.Settlings, res.InForce = settlings(f.Trials), inForces(f.Run.Cells, f.Trials, res.Level)
	res.NodeUses = nodeUses(f.Trials)
	if f.Run.Settings.SelfCheck {
		c := SelfCheck(f, 0)
		res.SelfCheck = &c
	}
	res.Warnings = runDoubts(f, res, in)
	return res
}

// Relate computes the results that draw on several rows: verdicts, extremes, sweeps, agreement of tools,
// prices, and the comparison with published figures. Analyze calls it.
func (res *Result) Relate() {
	for i := range res.Scenarios {
		s := &res.Scenarios[i]
		s.Extremes = extremes(*s, judgingOf(res.Limits))
		s.Namespaces = namespaces(*s)
	}
	giveVerdicts(res)
	res.Agreements, res.Prices, res.Sweeps, res.Replications = agreements(*res), perPrices(*res), nil, nil
	// Twins are compared with each other, not along an axis.
	if !res.Run.Settings.SelfCheck {
		res.Sweeps = sweeps(*res)
	}
	if src, ok := reference.ByName(sourceOf(res.Run)); ok {
		res.Replications = []Replication{replicate(*res, src)}
	}
}

// sourceOf returns the name of the published source that a run is compared with: the source named in the run,
// or else the name of its suite.
func sourceOf(run record.Run) string {
	name := path.Base(run.Suite)
	return cmp.Or(run.Source, strings.TrimSuffix(name, path.Ext(name)))
}

// namespaces reports whether the hosts of a scenario share one machine: there are several, something was
// measured on them, and in no trial were they separate machines.
func namespaces(s Scenario) Namespaces {
	measured := slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Status == record.OK })
	apart := slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Apart })
	return Namespaces(s.Cell.Hosts > 1 && measured && !apart)
}

// nativeFirst is a comparison function that sorts native rows first.
func nativeFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// newRows makes the rows of cells, using all CPUs.
func newRows(all []series, in circumstances) []Row {
	rows := make([]Row, len(all))
	record.OnAllCPUs(len(all), func(i int) { rows[i] = newRow(all[i], in) })
	return rows
}

func newRow(c series, in circumstances) Row {
	row := Row{Cell: c.cell, Native: c.cell.IsNative(), Counts: map[record.Status]int{}}
	for _, t := range c.trials {
		row.Counts[t.Status]++
		row.Status = t.Status
		if t.Status != record.OK {
			row.Reason, row.Remedy = t.Reason, t.Remedy
		}
	}
	for _, t := range c.counting() {
		if len(t.Path) > 0 {
			row.Path = t.Path
		}
	}
	row.Lost = lost(c)
	row.Endpoints, _ = c.lastSetup()
	row.Limit = c.limit()
	if row.Counts[record.OK] > 0 {
		row.Status = record.OK
	}
	row.Reached = in.reached[c.cell]
	beside := func(base *series, k record.Kind, of func(series) []Point) (f Figure, ok bool) {
		points := of(c)
		if len(points) == 0 {
			return Figure{}, false
		}
		f = Figure{Kind: k, Summary: summarize(values(points), in.level), Points: points, cell: c.cell, whole: of(*c.whole)}
		if !row.Native {
			f.pair(of(*base), in.judging)
		}
		return f, true
	}
	figure := func(k record.Kind, of func(series) []Point) (Figure, bool) { return beside(c.base, k, of) }
	unlike := c.unlikeRounds()
	row.Figures = record.Found(record.Kinds(), func(k record.Kind) (Figure, bool) {
		f, ok := figure(k, func(s series) []Point { return s.points(k) })
		if ok && len(unlike) > 0 && (dependsOnWindow(k, c.ok()) || dependsOnWindow(k, c.base.ok())) {
			all := f.Comparison()
			like := func(p Point) bool { return !unlike[p.Round] }
			f.pair(record.Those(f.base, like), in.judging)
			f.whole = record.Those(f.whole, like)
			f.Unlike = all != nil && (f.Comparison() == nil || f.Comparison().N < all.N)
		}
		return f, ok
	})
	row.CPU = record.Found(CPUKinds(), func(k record.Kind) (Figure, bool) {
		return figure(k, func(s series) []Point { return s.loads(k) })
	})
	// These are products and quotients of several figures, so that all must be of the same slices of the baseline.
	row.Costs = record.Found(CPUKinds(), func(k record.Kind) (Figure, bool) {
		return beside(c.whole, costKind(k, c.cell), func(s series) []Point { return s.costs(k) })
	})
	inUse := record.Kind{Name: "cpu_in_use", Title: "CPU in use", Unit: "cpu-s/s", Better: record.LowerIsBetter}
	if f, ok := beside(c.whole, inUse, series.inUse); ok {
		row.InUse = &f
	}
	ok := c.ok()
	row.Window = windowOf(ok)
	_, row.Flows = series{trials: ok}.lastSetup()
	for _, t := range ok {
		if t.CPU != nil {
			row.ClientCPUs, row.ServerCPUs = t.CPU.Client.CPUs, t.CPU.Server.CPUs
			row.Apart = row.Apart || len(t.CPU.Hosts) > 0
		}
	}
	var bad int
	var why error
	row.Latency, bad, why = mergeLatency(ok)
	doubts := doubts(row, c, in)
	if bad > 0 {
		doubts.add(WarnHistogram, "the run file was changed or damaged; of the figures only percentiles by time depend on it",
			"latencies of %s cannot be read and are left out of the distribution (%v)", ofTrials(bad, len(ok)), why)
	}
	row.Warnings = doubts
	return row
}

// pair compares a figure with those of the baseline beside its cell.
func (f *Figure) pair(base []Point, j judging) {
	f.base, f.Ratio, f.Difference = base, nil, nil
	pairs := pairUp(f.Points, base)
	f.Ratio = compare(pairs, f.Kind.Better, j)
	if f.Ratio == nil || f.Kind.Unit == "ratio" || f.Kind.Unit == "s" {
		f.Difference = subtract(pairs, f.Kind.Better, j)
	}
}

// unlikeRounds returns the rounds in which the windows of a cell and of the baseline beside it had unlike lengths.
func (s series) unlikeRounds() map[int]bool {
	beside, out := map[int][]*record.Trial{}, map[int]bool{}
	for _, t := range s.base.ok() {
		beside[t.Round] = append(beside[t.Round], t)
	}
	for _, t := range s.ok() {
		out[t.Round] = unlikeWindows(t.Window, windowOf(beside[t.Round]))
	}
	maps.DeleteFunc(out, func(_ int, unlike bool) bool { return !unlike })
	return out
}

// windowOf returns the median length of the windows of trials, in seconds.
func windowOf(trials []*record.Trial) float64 {
	windows := record.Each(trials, func(t *record.Trial) float64 { return t.Window })
	return medianOf(record.Those(windows, func(w float64) bool { return w > 0 && !math.IsInf(w, 0) }))
}

// unlikeWindows reports whether two lengths of windows are known and differ by more than windowShare, as those of a
// baseline do, which has more turns than the networks that are compared with it, and fewer as networks are known.
func unlikeWindows(v, w float64) bool { return v > 0 && w > 0 && math.Abs(v-w) > windowShare*min(v, w) }

// dependsOnWindow reports whether a metric depends on how long the windows of its trials are: the longest of more transactions is
// longer, more segments are retransmitted in a longer window, the shares of flows are more alike, and a percentile that few
// transactions decide is nearly the longest.
func dependsOnWindow(k record.Kind, trials []*record.Trial) bool {
	decidedByFew := func(t *record.Trial) bool { return beyond(k, t) < fewestBeyond }
	grows := []string{record.LatencyMax, record.Retransmits, record.Fairness}
	return slices.Contains(grows, k.Name) || slices.ContainsFunc(trials, decidedByFew)
}

// lastEnd returns the time at which the last trial ended. It is too early for networks that took turns: each trial has only its
// share of their time.
func lastEnd(trials []record.Trial) time.Time {
	var last time.Time
	for _, t := range trials {
		at := t.Started
		if year := 365 * 24 * 3600.0; t.Elapsed > 0 && t.Elapsed < year {
			at = at.Add(time.Duration(t.Elapsed * float64(time.Second)))
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// ending returns the orderly end of the run, if it has one: the end line of the last process that worked on it.
func ending(f *record.File) (record.End, bool) {
	if len(f.Ends) == 0 || f.Open || f.Truncated > 0 {
		return record.End{}, false
	}
	return f.Ends[len(f.Ends)-1], true
}

// machineThat returns the first machine that is as asked, of those that were measured, and which one it is; "" if none is.
func machineThat(f *record.File, is func(record.Machine) bool) (which string, m record.Machine) {
	if f.Here() && is(f.Run.Machine) {
		return "the machine", f.Run.Machine
	}
	for _, t := range f.Trials {
		for _, e := range t.Endpoints {
			if e.Machine != nil && is(*e.Machine) {
				return "the machine of " + cmp.Or(e.Platform, e.Name), *e.Machine
			}
		}
	}
	return "", m
}

// measured reports whether any cell has figures.
func measured(res Result) bool {
	for _, r := range res.Rows() {
		if r.Status == record.OK {
			return true
		}
	}
	return false
}

// runDoubts returns the warnings about the run as a whole.
func runDoubts(f *record.File, res Result, in circumstances) (out warnings) {
	if which, _ := machineThat(f, func(m record.Machine) bool { return m.Virtual == record.Emulated }); which != "" {
		out.add(WarnEmulated, "measure on real hardware, or under a hypervisor with hardware support (KVM)",
			"%s is emulated in software: no figure here says anything about performance", which)
	}
	if which, m := machineThat(f, func(m record.Machine) bool { return m.Power.FollowsLoad() }); which != "" {
		out.add(WarnFrequency, "choose the governor performance before measuring (cpupower frequency-set -g performance)",
			"the busier the CPUs of %s are, the higher is their clock frequency (cpufreq %s): at low load, a network that needs more CPU time has faster CPUs, and seems to cost less than it does", which, m.Power.Frequency())
	}
	if e, ok := record.First(f.Ends, func(e record.End) bool { return e.Frequency != "" }); ok && f.Here() {
		out.add(WarnMoved, "measure again, and leave the governor as it is meanwhile",
			"the clock frequency of the CPUs was chosen by cpufreq %s when the run began, and by %s later: figures of different rounds are not those of the same machine", f.Run.Machine.Power.Frequency(), e.Frequency)
	}
	if all := f.Versions; len(all) > 1 {
		out.add(WarnVersions, "measure again with one version",
			"the rounds were measured by several versions of nettoll: %s", strings.Join(all, ", "))
	}
	if used, cpus := othersUse(f); used > busyLimit*float64(cpus) {
		all := "one CPU"
		if cpus > 1 {
			all = fmt.Sprintf("%d CPUs", cpus)
		}
		out.add(WarnBusy, "stop other work on the machine, and measure again",
			"other work used %s of the machine's %s between trials: a receiver that waits for a CPU is woken less often, so networks may differ less from native than on a quiet machine", oneline.Number(used, 2), all)
	}
	if f.Truncated > 0 {
		out.add(WarnTruncated, in.resume(""),
			"the last line is incomplete (%d bytes are left out): the process died while writing it", f.Truncated)
	}
	text := map[string]string{
		record.EndInterrupted: "the run was interrupted",
		record.EndFailed:      "the run stopped because nothing more could be measured",
	}[res.End]
	if text != "" && res.EndDetail != "" {
		text += " (" + res.EndDetail + ")"
	}
	then := in.resume("")
	if _, orderly := ending(f); !orderly {
		text = "the run did not finish cleanly"
	} else if in.gaveUp {
		then = anew
	}
	if measured(res) {
		then = "what was measured is valid; " + then + " for the rest"
	}
	if text != "" {
		out.add(WarnUnfinished, then, "%s; complete rounds: %d", text, res.Rounds)
	}
	// If a run has too few rounds for any comparison at all, rows report that.
	if m, most := res.Multiplicity, res.mostRounds(); m.NotKnown > 0 && most >= record.LeastRounds(1, res.Level) && most < m.Least {
		out.add(WarnShort, in.more(m.Least+in.last-most)+", or make fewer comparisons",
			"%d rounds are too few to call anything different: among %d comparisons no difference, however large, is certain with fewer than %d", most, m.Tested(), m.Least)
	}
	if slices.ContainsFunc(res.Scenarios, func(s Scenario) bool { return s.Cell.Placement == record.PlacementFree }) {
		out.add(WarnPlacement, "use --placement same or distinct",
			"placement is free: the scheduler moves client and server between CPUs, on which figures depend, latency most of all")
	}
	return out
}
