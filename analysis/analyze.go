package analysis

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nettoll/record"
	"nettoll/reference"
)

// Analyze computes everything that reports say about a run file. All figures are finite.
//
// Every interval and test is at the level of the run (Settings.Confidence) by itself; verdicts
// take the number of comparisons into account, see giveVerdicts.
func Analyze(f *record.File) Result {
	completed := *f
	completed.Trials = Complete(f.Trials)
	return AnalyzeCompleted(&completed)
}

// AnalyzeCompleted is Analyze for a file whose trials are complete, see CompleteTrial.
func AnalyzeCompleted(f *record.File) Result {
	all := collect(f.Run.Cells, f.Trials)
	byCell := map[record.Cell]series{}
	for _, c := range all {
		byCell[c.cell] = c
	}
	res := Result{Run: f.Run, Limits: f.Limits(), Finished: finished(f.Trials), Elapsed: f.Spent, Rounds: completeRounds(all, byCell, f.Limits())}
	res.Level, res.Margin = level(res.Limits), equalWithin(res.Limits)
	if e, ok := ending(f); ok {
		res.End, res.EndDetail = e.Reason, e.Detail
	}
	in := newCircumstances(res, all, byCell)
	res.Aim = in.aim
	rows := newRows(all, byCell, in)
	index := map[record.Cell]int{}
	for n, c := range all {
		scenario := c.cell.Scenario()
		i, ok := index[scenario]
		if !ok {
			i = len(res.Scenarios)
			index[scenario] = i
			res.Scenarios = append(res.Scenarios, Scenario{Cell: scenario})
		}
		res.Scenarios[i].Rows = append(res.Scenarios[i].Rows, rows[n])
	}
	for _, s := range res.Scenarios {
		slices.SortStableFunc(s.Rows, func(a, b Row) int { return firstNative(a) - firstNative(b) })
	}
	res.Relate()
	res.Settlings = settlings(f.Trials)
	res.Warnings = runDoubts(f, res, in)
	return res
}

// Relate computes what follows from several rows: verdicts, extremes, sweeps, agreement of tools,
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

// sourceOf is the published source that a run is compared with: the one that it names, or
// the one that its suite is named after.
func sourceOf(run record.Run) string {
	name := path.Base(run.Suite)
	return cmp.Or(run.Source, strings.TrimSuffix(name, path.Ext(name)))
}

// namespaces reports whether the hosts of a scenario share one machine: there are
// several, something was measured on them, and in no trial were they machines.
func namespaces(s Scenario) Namespaces {
	measured := false
	for _, r := range s.Rows {
		if r.Apart {
			return false
		}
		measured = measured || r.Status == record.OK
	}
	return Namespaces(s.Cell.Hosts > 1 && measured)
}

func firstNative(r Row) int {
	if r.Native {
		return 0
	}
	return 1
}

// newRows makes the rows of cells, on all CPUs.
func newRows(all []series, byCell map[record.Cell]series, in circumstances) []Row {
	rows := make([]Row, len(all))
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
				rows[i] = newRow(all[i], byCell[all[i].cell.Against()], in)
			}
		})
	}
	done.Wait()
	return rows
}

func newRow(c, base series, in circumstances) Row {
	row := Row{Cell: c.cell, Native: c.cell.IsNative(), Counts: map[record.Status]int{}}
	for _, t := range c.trials {
		row.Counts[t.Status]++
		row.Status = t.Status
		if t.Status != record.OK {
			row.Reason, row.Remedy = t.Reason, t.Remedy
		}
		if len(t.Path) > 0 {
			row.Path = t.Path
		}
	}
	row.Endpoints, _ = c.lastSetup()
	row.Limit = c.limit()
	if row.Counts[record.OK] > 0 {
		row.Status = record.OK
	}
	row.Reached = in.reached[c.cell]
	figure := func(k record.Kind, of func(series) []Point) (f Figure, ok bool) {
		points := of(c)
		if len(points) == 0 {
			return Figure{}, false
		}
		return newFigure(k, points, of(base), row.Native, in.judging), true
	}
	for _, k := range record.Kinds() {
		if f, ok := figure(k, func(s series) []Point { return s.points(k) }); ok {
			row.Figures = append(row.Figures, f)
		}
	}
	for _, k := range CPUKinds() {
		if f, ok := figure(k, func(s series) []Point { return s.loads(k) }); ok {
			row.CPU = append(row.CPU, f)
		}
		if f, ok := figure(costKind(k, c.cell), func(s series) []Point { return s.costs(k) }); ok {
			row.Costs = append(row.Costs, f)
		}
	}
	if f, ok := figure(inUseKind(), series.inUse); ok {
		row.InUse = &f
	}
	ok := c.ok()
	row.Window, row.Flows = windowOf(ok), flowsOf(ok)
	for _, t := range ok {
		if t.CPU != nil {
			row.ClientCPUs, row.ServerCPUs = t.CPU.Client.CPUs, t.CPU.Server.CPUs
			row.Apart = row.Apart || len(t.CPU.Hosts) > 0
		}
	}
	var bad int
	var why error
	row.Latency, bad, why = mergeLatency(ok)
	row.Warnings = doubts(row, c, base, in)
	if bad > 0 {
		row.Warnings = append(row.Warnings, warnHistogram(bad, len(ok), why))
	}
	return row
}

func newFigure(k record.Kind, points, base []Point, native bool, j judging) Figure {
	fig := Figure{Kind: k, Summary: summarize(values(points), j.level), Points: points}
	if native {
		return fig
	}
	pairs := pairUp(points, base)
	fig.Ratio = compare(pairs, k.Better, j)
	if fig.Ratio == nil || k.Unit == "ratio" || k.Unit == "s" {
		fig.Difference = subtract(pairs, k.Better, j)
	}
	return fig
}

// windowOf is the median length of the windows of trials, in seconds.
func windowOf(trials []*record.Trial) float64 {
	var all []float64
	for _, t := range trials {
		if t.Window > 0 && !math.IsInf(t.Window, 0) {
			all = append(all, t.Window)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return median(all)
}

// flowsOf are the flows of the last trial that has some.
func flowsOf(trials []*record.Trial) []record.Flow {
	for _, t := range slices.Backward(trials) {
		if len(t.Flows) > 0 {
			return t.Flows
		}
	}
	return nil
}

// finished is when the last trial ended.
func finished(trials []record.Trial) time.Time {
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

// ending is the orderly end of the run, if it has one: an end line of the last
// process that worked on it.
func ending(f *record.File) (record.End, bool) {
	if len(f.Ends) == 0 || f.Open || f.Truncated > 0 {
		return record.End{}, false
	}
	return f.Ends[len(f.Ends)-1], true
}

// runDoubts are the warnings of the run as a whole.
func runDoubts(f *record.File, res Result, in circumstances) []Warning {
	var out []Warning
	if f.Run.Machine.Virtual == record.Emulated {
		out = append(out, warnEmulated())
	}
	if used, cpus := othersUse(f); used > busyLimit*float64(cpus) {
		out = append(out, warnBusy(used, cpus))
	}
	if f.Truncated > 0 {
		out = append(out, warnTruncated(f.Truncated))
	}
	switch _, orderly := ending(f); {
	case !orderly:
		out = append(out, warnUnfinished(fmt.Sprintf("the run did not end in an orderly way; complete rounds: %d", res.Rounds)))
	case res.End == record.EndInterrupted || res.End == record.EndFailed:
		text := map[string]string{
			record.EndInterrupted: "the run was interrupted",
			record.EndFailed:      "the run stopped since nothing more could be measured",
		}[res.End]
		if res.EndDetail != "" {
			text += " (" + res.EndDetail + ")"
		}
		out = append(out, warnUnfinished(fmt.Sprintf("%s; complete rounds: %d", text, res.Rounds)))
	}
	if most := res.mostRounds(); most >= record.LeastRounds(1, res.Level) && most < res.Multiplicity.Least {
		out = append(out, warnShort(res.Multiplicity, most, in.more(res.Multiplicity.Least)))
	}
	for _, s := range res.Scenarios {
		if s.Cell.Placement == record.PlacementFree {
			out = append(out, warnPlacement())
			break
		}
	}
	return out
}
