package report

import (
	"encoding/json"
	"io"
	"time"

	"nettoll/analysis"
	"nettoll/record"
)

// JSONSchema is the version of the JSON report. It grows when a field is
// removed or changes its meaning.
const JSONSchema = 1

type jsonReport struct {
	SchemaVersion int             `json:"schema_version"`
	Run           jsonRun         `json:"run"`
	Machine       record.Machine  `json:"machine"`
	Settings      record.Settings `json:"settings"`
	Finished      string          `json:"finished,omitempty"`
	End           string          `json:"end,omitempty"`
	EndDetail     string          `json:"end_detail,omitempty"`
	Rounds        int             `json:"rounds"`
	Scenarios     []jsonScenario  `json:"scenarios"`
	Warnings      []jsonWarning   `json:"warnings"`

	Sweeps       []jsonSweep       `json:"sweeps"`
	Agreements   []jsonAgreement   `json:"agreements"`
	Replications []jsonReplication `json:"replications"`
	PerPrice     []jsonPerPrice    `json:"per_price"`
	Settlings    []jsonSettling    `json:"settlings,omitempty"` // of networks that were watched before they were measured
}

type jsonRun struct {
	ID      string `json:"id"`
	Started string `json:"started,omitempty"`
	Version string `json:"version"`
	Suite   string `json:"suite"`
	Note    string `json:"note,omitempty"`
}

type jsonScenario struct {
	Title     string         `json:"title"`
	Hosts     int            `json:"hosts"`
	Family    int            `json:"family"`
	Servers   int            `json:"servers"`
	Clients   int            `json:"clients"`
	Tool      string         `json:"tool"`
	Workload  string         `json:"workload"`
	Options   record.Options `json:"options"`
	Placement string         `json:"placement"`
	Underlay  string         `json:"underlay,omitempty"`

	Processes  int    `json:"processes,omitempty"`
	Neighbours int    `json:"neighbours,omitempty"`
	Rules      int    `json:"rules,omitempty"`
	MTU        int    `json:"mtu,omitempty"`
	Offload    string `json:"offload,omitempty"`
	Normalize  bool   `json:"normalize,omitempty"`
	Baseline   string `json:"baseline,omitempty"` // network that is compared with, where that is not native

	Networks []jsonRow `json:"networks"`
}

type jsonRow struct {
	Network   string                `json:"network"`
	Twin      int                   `json:"twin,omitempty"`
	Native    bool                  `json:"native"`
	Status    record.Status         `json:"status"`
	Reason    string                `json:"reason,omitempty"`
	Remedy    string                `json:"remedy,omitempty"`
	Trials    map[record.Status]int `json:"trials"`
	Metrics   []jsonMetric          `json:"metrics"`
	CPU       []jsonMetric          `json:"cpu,omitempty"` // use in the window, in CPU seconds a second
	Latency   *jsonLatency          `json:"latency,omitempty"`
	Path      []record.Hop          `json:"path"`
	Endpoints []record.Endpoint     `json:"endpoints"`
	Warnings  []jsonWarning         `json:"warnings"`
}

type jsonMetric struct {
	Metric   string          `json:"metric"`
	Unit     string          `json:"unit"`
	Better   string          `json:"better"`
	N        int             `json:"n"`
	Median   float64         `json:"median"`
	Min      float64         `json:"min"`
	Max      float64         `json:"max"`
	Interval *jsonInterval   `json:"interval,omitempty"` // absent where there are too few trials
	VsNative *jsonComparison `json:"vs_native,omitempty"`
}

type jsonInterval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
}

type jsonComparison struct {
	N        int           `json:"n"`
	Ratio    float64       `json:"ratio"`
	Interval *jsonInterval `json:"interval,omitempty"` // missing where there are too few pairs
	P        float64       `json:"p"`
	Verdict  string        `json:"verdict"`
}

// jsonLatency is the merged distribution, in seconds.
type jsonLatency struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

type jsonWarning struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// writeJSON writes everything in base units. Lists are never null, and a
// figure that is not known is absent.
func writeJSON(w io.Writer, res analysis.Result, o Options) error {
	r := jsonReport{
		SchemaVersion: JSONSchema,
		Run: jsonRun{ID: res.Run.ID, Started: timestamp(res.Run.Started), Version: res.Run.Version,
			Suite: res.Run.Suite, Note: res.Run.Note},
		Machine: res.Run.Machine, Settings: res.Run.Settings, Finished: timestamp(res.Finished),
		End: res.End, EndDetail: res.EndDetail, Rounds: res.Rounds,
		Scenarios: []jsonScenario{}, Warnings: jsonWarnings(res.Warnings),
		Sweeps: jsonSweeps(*o.found), Agreements: jsonAgreements(o.found.agreements),
		Replications: jsonReplications(o.found.replications), PerPrice: jsonPerPrices(o.found.prices),
		Settlings: jsonSettlings(res),
	}
	if r.Machine.CPUs == nil {
		r.Machine.CPUs = []record.CPU{}
	}
	for _, s := range res.Scenarios {
		c := s.Cell
		out := jsonScenario{
			Title: (&group{scenarios: []analysis.Scenario{s}}).title(), Hosts: c.Hosts, Family: c.Family,
			Servers: c.Servers, Clients: c.Clients, Tool: c.Tool, Workload: c.Workload, Options: c.Options,
			Placement: c.Placement, Underlay: c.Underlay, Networks: []jsonRow{},
			Processes: c.Processes, Neighbours: c.Neighbours, Rules: c.Rules, MTU: c.MTU, Offload: c.Offload, Normalize: c.Normalize, Baseline: c.Baseline,
		}
		for _, row := range s.Rows {
			out.Networks = append(out.Networks, jsonRowOf(row))
		}
		r.Scenarios = append(r.Scenarios, out)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func jsonRowOf(row analysis.Row) jsonRow {
	out := jsonRow{
		Network: row.Cell.Network, Twin: row.Cell.Twin, Native: row.Native, Status: row.Status,
		Reason: row.Reason, Remedy: row.Remedy, Trials: row.Counts, Metrics: []jsonMetric{},
		Path: row.Path, Endpoints: row.Endpoints, Warnings: jsonWarnings(row.Warnings),
	}
	if out.Trials == nil {
		out.Trials = map[record.Status]int{}
	}
	if out.Path == nil {
		out.Path = []record.Hop{}
	}
	if out.Endpoints == nil {
		out.Endpoints = []record.Endpoint{}
	}
	for _, f := range row.Figures {
		out.Metrics = append(out.Metrics, jsonMetricOf(f))
	}
	for _, f := range row.CPU {
		out.CPU = append(out.CPU, jsonMetricOf(f))
	}
	if h := row.Latency; h != nil && h.TotalCount() > 0 {
		at := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1e9 }
		out.Latency = &jsonLatency{Count: h.TotalCount(), Min: float64(h.Min()) / 1e9, P50: at(50), P90: at(90),
			P99: at(99), P999: at(99.9), Max: float64(h.Max()) / 1e9}
	}
	return out
}

func jsonMetricOf(f analysis.Figure) jsonMetric {
	s := f.Summary
	m := jsonMetric{Metric: f.Kind.Name, Unit: f.Kind.Unit, Better: betterName(f.Kind), N: s.N,
		Median: s.Median, Min: s.Min, Max: s.Max}
	if s.Level > 0 {
		m.Interval = &jsonInterval{s.Low, s.High, s.Level}
	}
	m.VsNative = jsonComparisonOf(f.Ratio)
	return m
}

func jsonComparisonOf(c *analysis.Comparison) *jsonComparison {
	if c == nil {
		return nil
	}
	out := &jsonComparison{N: c.N, Ratio: c.Ratio, P: c.P, Verdict: verdictName(c.Verdict)}
	if c.Level > 0 {
		out.Interval = &jsonInterval{c.Low, c.High, c.Level}
	}
	return out
}

func jsonWarnings(warnings []analysis.Warning) []jsonWarning {
	out := []jsonWarning{}
	for _, w := range warnings {
		out = append(out, jsonWarning{w.Code, w.Text, w.Advice})
	}
	return out
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
