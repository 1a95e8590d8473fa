// Package analysis turns the trials of a run file into figures with intervals,
// comparisons with native and verdicts. It is pure: the same run file gives the
// same result, always, and nothing in it reads a clock or a file.
package analysis

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

// Result is everything that reports say about a run file. Most of it is written to JSON as it is.
type Result struct {
	Run       record.Run
	Limits    record.Settings // in force at the end: of the run, or of the last process that went on with it
	Level     float64         // of every interval and test
	Margin    float64         // differences up to so much, as a share of the baseline, count as none
	Finished  time.Time       // of the last trial; zero when there is none
	Elapsed   float64         // seconds that the processes worked on it, all together
	End       string          // why the run ended (record.End…), or "" when it did not end in an orderly way
	EndDetail string
	Rounds    int // complete rounds: every cell that was still to be measured has a trial
	Scenarios []Scenario
	Settlings []Settling
	Warnings  []Warning // of the run as a whole

	// What the rows show together.
	Multiplicity Multiplicity
	Aim          Aim
	Agreements   []Agreement
	Sweeps       []Sweep
	Prices       []PerPrice
	Replications []Replication
}

// Rows are all rows of a result, each with its scenario.
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

// Scenario holds cells that may be compared: the same traffic, hosts, family
// and placement over different networks.
type Scenario struct {
	Cell       record.Cell // with no network
	Rows       []Row       // the baseline first, the others in the order of the plan
	Extremes   []Extreme   // which networks are first and last, where that is tested
	Namespaces Namespaces
}

// Namespaces says that there are several hosts, and that they are namespaces of one machine, without a
// network card between them.
type Namespaces bool

func (n Namespaces) String() string {
	if n {
		return "namespaces of one machine"
	}
	return ""
}

// MarshalText writes what hosts are called that share a machine.
func (n Namespaces) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// Row is one cell.
type Row struct {
	Cell    record.Cell           `json:"-"`
	Native  bool                  `json:"native"`
	Status  record.Status         `json:"status"`           // OK when at least one trial is; else that of the last trial
	Reason  string                `json:"reason,omitempty"` // of the last trial that is not OK
	Remedy  string                `json:"remedy,omitempty"`
	Counts  map[record.Status]int `json:"trials"`
	Figures []Figure              `json:"metrics"`              // in the order of record.Kinds
	CPU     []Figure              `json:"cpu,omitempty"`        // CPU use in the window, in the order of CPUKinds; empty where it was not recorded
	Costs   []Figure              `json:"cpu_cost,omitempty"`   // the same for what was moved meanwhile, in the order of CPUKinds; see costs
	InUse   *Figure               `json:"cpu_in_use,omitempty"` // CPU use over idle in the window; nil where it was not recorded
	Reached Reached               `json:"-"`                    // how well the primary metric is known
	Limit   Limit                 `json:"-"`                    // what keeps its stream from being faster
	// Latency is the merged histogram of all OK trials, in nanoseconds, nil where
	// the workload has none. Its percentiles are not those of Figures: these are of each
	// trial, so that they have intervals and pairs, and their middle is shown.
	Latency   *hdrhistogram.PackedHistogram `json:"-"`
	Path      []record.Hop                  `json:"-"` // of the last trial that has one
	Endpoints []record.Endpoint             `json:"-"` // of the last trial that has them
	Warnings  []Warning                     `json:"-"`

	Apart  bool          `json:"-"` // the hosts were machines of their own, and CPU has all of them
	Window float64       `json:"-"` // seconds measured in a trial, median
	Flows  []record.Flow `json:"-"` // of the last OK trial that has them
	// ClientCPUs and ServerCPUs are where the processes of the last OK trial were
	// allowed to run; empty is anywhere, or was not recorded.
	ClientCPUs, ServerCPUs []int `json:"-"`
}

// MarshalJSON writes a row without its traffic, which is its scenario's. Lists are never null.
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

// listed is a list that JSON does not write as null.
func listed[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
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
	record.Kind
	Summary
	Ratio *Comparison `json:"vs_native,omitempty"` // ÷ baseline; nil for the baseline itself, where it has no pair, and where a value is 0
	// Difference from the baseline is shown instead of the ratio for metrics that are shares
	// themselves (unit "ratio") and where a value is 0; for times it is given as well.
	// It is nil for all other metrics.
	Difference *Comparison `json:"difference,omitempty"`
	Points     []Point     `json:"-"` // the values, in the order of rounds
}

// Comparison is the one that is shown, ratio or difference; nil if there is neither.
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

// Warning is a doubt, with what to do about it.
type Warning struct {
	Code   string `json:"code"`             // for programs
	Text   string `json:"text"`             // what is doubtful
	Advice string `json:"advice,omitempty"` // what would help
}
