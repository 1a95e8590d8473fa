// Package analysis turns the trials of a run file into figures with intervals,
// comparisons with native and verdicts. It is pure: the same run file gives the
// same result, always, and nothing in it reads a clock, a file or a global.
package analysis

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

// Result is all that can be said about a run file.
type Result struct {
	Run       record.Run
	Finished  time.Time // of the last trial; zero when there is none
	End       string    // why the run ended (record.End…), or "" when it did not end in an orderly way
	EndDetail string
	Rounds    int // complete rounds: every cell that can run has a trial
	Scenarios []Scenario
	Settlings []Settling
	Warnings  []Warning // of the run as a whole
}

// Scenario holds cells that may be compared: the same traffic, hosts, family
// and placement over different networks.
type Scenario struct {
	Cell record.Cell // with no network
	Rows []Row       // native first, the others in the order of the plan
}

// Row is one cell.
type Row struct {
	Cell    record.Cell
	Native  bool
	Status  record.Status // OK when at least one trial is; else that of the last trial
	Reason  string        // of the last trial that is not OK
	Remedy  string
	Counts  map[record.Status]int
	Figures []Figure // in the order of record.Kinds
	// Latency is the merged histogram of all OK trials, in nanoseconds, nil where
	// the workload has none. Percentiles are merged, never averaged.
	Latency *hdrhistogram.Histogram
	CPU     []Figure      // CPU use in the window, in the order of CPUKinds; empty where it was not recorded
	Apart   bool          // the hosts were machines of their own, and CPU has all of them
	Window  float64       // seconds measured in a trial, median
	Flows   []record.Flow // of the last OK trial that has them
	// ClientCPUs and ServerCPUs are where the processes of the last OK trial were
	// allowed to run; empty is anywhere, or was not recorded.
	ClientCPUs, ServerCPUs []int
	Path                   []record.Hop      // of the last trial that has one
	Endpoints              []record.Endpoint // of the last trial that has them
	Warnings               []Warning
}

// Figure finds a metric in the row. The throughput of a single client is that for
// each client too.
func (r Row) Figure(metric string) (Figure, bool) {
	for _, f := range r.Figures {
		if f.Kind.Name == metric {
			return f, true
		}
	}
	if metric != record.ThroughputPerClient || r.Cell.Pairs() != 1 {
		return Figure{}, false
	}
	f, ok := r.Figure(record.Throughput)
	f.Kind, _ = record.KindOf(metric)
	return f, ok
}

// Primary is the figure that the row is ranked by: of the metrics that answer for
// its workload the first that it has.
func (r Row) Primary() (Figure, bool) {
	for _, name := range append(record.Primary(r.Cell.Workload), record.LatencyMean) {
		if f, ok := r.Figure(name); ok {
			return f, true
		}
	}
	return Figure{}, false
}

// Load finds a figure of CPU use in the row.
func (r Row) Load(name string) (Figure, bool) {
	for _, f := range r.CPU {
		if f.Kind.Name == name {
			return f, true
		}
	}
	return Figure{}, false
}

// Figure is one metric of a row.
type Figure struct {
	Kind    record.Kind
	Summary Summary
	Ratio   *Comparison // with native; nil for native itself, where native has no pair, and where a value is 0
	// Difference from native stands for the ratio where that says little or does
	// not exist: in metrics that are shares themselves (unit "ratio"), and where a
	// value is 0. Nil elsewhere.
	Difference *Difference
	Points     []Point // the values, in the order of rounds
}

// Point is one value and the round it was measured in.
type Point struct {
	Round int
	Value float64
}

// Summary says where the values of repeated trials lie.
type Summary struct {
	N         int
	Median    float64
	Low, High float64 // interval of the median; equal to Min and Max where N is too small for the level
	Min, Max  float64
	Level     float64 // of the interval; 0 where N is too small to give the level asked for
}

// Verdict says what a comparison allows to be said.
type Verdict int

const (
	Indistinguishable Verdict = iota // printed as ~
	Better
	Worse
)

// Comparison is a cell over native, paired by round.
type Comparison struct {
	N         int     // pairs
	Ratio     float64 // cell ÷ native
	Low, High float64 // interval of the ratio; the extremes of the pairs where N is too small for the level
	Level     float64 // of the interval; 0 where N is too small to give the level asked for
	P         float64 // of the test that the ratio is 1
	Verdict   Verdict // at the run's level, in the direction of the metric
}

// Difference is a cell less native, paired by round, in the unit of the metric.
type Difference struct {
	N         int     // pairs
	Value     float64 // cell − native
	Low, High float64 // interval; the extremes of the pairs where N is too small for the level
	Level     float64 // of the interval; 0 where N is too small to give the level asked for
	P         float64 // of the test that there is none
	Verdict   Verdict // at the run's level, in the direction of the metric
}

// Warning is a doubt, with what to do about it.
type Warning struct {
	Code   string // for programs
	Text   string // what is doubtful
	Advice string // what would mend it
}
