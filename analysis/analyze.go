package analysis

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nettoll/record"
)

// Analyze says everything that can be said about a run file.
//
// Every interval and test is at the level of the run (Settings.Confidence), for
// itself: with twenty comparisons of equal networks one is expected to be called
// different at 95 %.
func Analyze(f *record.File) Result {
	all := collect(f.Run.Cells, f.Trials)
	byCell := map[record.Cell]series{}
	for _, c := range all {
		byCell[c.cell] = c
	}
	res := Result{Run: f.Run, Finished: finished(f.Trials), Rounds: completeRounds(all)}
	if e, ok := ending(f); ok {
		res.End, res.EndDetail = e.Reason, e.Detail
	}
	index := map[record.Cell]int{}
	for _, c := range all {
		scenario := c.cell.Scenario()
		i, ok := index[scenario]
		if !ok {
			i = len(res.Scenarios)
			index[scenario] = i
			res.Scenarios = append(res.Scenarios, Scenario{Cell: scenario})
		}
		row := newRow(c, byCell[native(c.cell)], &f.Run, res.End)
		res.Scenarios[i].Rows = append(res.Scenarios[i].Rows, row)
	}
	for _, s := range res.Scenarios {
		slices.SortStableFunc(s.Rows, func(a, b Row) int { return firstNative(a) - firstNative(b) })
	}
	res.Settlings = settlings(f.Trials)
	res.Warnings = runDoubts(f, res)
	return res
}

func firstNative(r Row) int {
	if r.Native {
		return 0
	}
	return 1
}

func newRow(c, base series, run *record.Run, end string) Row {
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
	if row.Counts[record.OK] > 0 {
		row.Status = record.OK
	}
	conf := level(run.Settings)
	for _, k := range record.Kinds() {
		if points := c.points(k); len(points) > 0 {
			row.Figures = append(row.Figures, newFigure(k, points, base.points(k), row.Native, conf))
		}
	}
	for _, k := range CPUKinds() {
		if points := c.loads(k); len(points) > 0 {
			row.CPU = append(row.CPU, newFigure(k, points, base.loads(k), row.Native, conf))
		}
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
	row.Warnings = doubts(row, c, base, run, end)
	if bad > 0 {
		row.Warnings = append(row.Warnings, warnHistogram(bad, len(ok), why))
	}
	return row
}

func newFigure(k record.Kind, points, base []Point, native bool, conf float64) Figure {
	fig := Figure{Kind: k, Summary: summarize(values(points), conf), Points: points}
	if native {
		return fig
	}
	pairs := pairUp(points, base)
	fig.Ratio = compare(pairs, k.Better, conf)
	if fig.Ratio == nil || k.Unit == "ratio" {
		fig.Difference = subtract(pairs, k.Better, conf)
	}
	return fig
}

// windowOf is the median length of the windows of trials, in seconds.
func windowOf(trials []record.Trial) float64 {
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
func flowsOf(trials []record.Trial) []record.Flow {
	for _, t := range slices.Backward(trials) {
		if len(t.Flows) > 0 {
			return t.Flows
		}
	}
	return nil
}

// completeRounds counts the rounds in which every cell that can run has a trial.
// A cell that was only ever skipped cannot run.
func completeRounds(all []series) int {
	have := map[int]int{}
	cells := 0
	for _, c := range all {
		skipped := len(c.trials) > 0
		for _, t := range c.trials {
			skipped = skipped && t.Status == record.Skipped
		}
		if skipped {
			continue
		}
		cells++
		for _, t := range c.trials {
			have[t.Round]++
		}
	}
	n := 0
	for _, measured := range have {
		if measured == cells {
			n++
		}
	}
	return n
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
	if len(f.Ends) == 0 || f.Truncated > 0 {
		return record.End{}, false
	}
	e := f.Ends[len(f.Ends)-1]
	for _, r := range f.Resumes {
		if r.Started.After(e.Finished) {
			return record.End{}, false
		}
	}
	return e, true
}

// runDoubts are the warnings of the run as a whole.
func runDoubts(f *record.File, res Result) []Warning {
	var out []Warning
	if f.Run.Machine.Virtual == record.Emulated {
		out = append(out, warnEmulated())
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
	for _, s := range res.Scenarios {
		if s.Cell.Placement == record.PlacementFree {
			out = append(out, warnPlacement())
			break
		}
	}
	return out
}
