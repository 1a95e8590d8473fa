package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"nettoll/analysis"
	"nettoll/record"
)

// JSONSchema is the version of the JSON report. It grows when a field is
// removed or changes its meaning.
const JSONSchema = 2

type jsonReport struct {
	SchemaVersion int             `json:"schema_version"`
	Run           jsonRun         `json:"run"`
	Machine       record.Machine  `json:"machine"`
	Settings      record.Settings `json:"settings"` // of the run
	Limits        record.Settings `json:"limits"`   // in force at its end
	Level         float64         `json:"level"`    // of intervals and tests
	Margin        float64         `json:"margin"`   // a difference up to so much counts as none
	Finished      string          `json:"finished,omitempty"`
	Elapsed       float64         `json:"elapsed_s"` // of all processes that worked on the run
	End           string          `json:"end,omitempty"`
	EndDetail     string          `json:"end_detail,omitempty"`
	Rounds        int             `json:"rounds"`
	Comparisons   jsonComparisons `json:"comparisons"`
	Precision     jsonAim         `json:"precision"`
	Scenarios     []jsonScenario  `json:"scenarios"`
	Warnings      []jsonWarning   `json:"warnings"`

	Sweeps       []jsonSweep       `json:"sweeps"`
	Agreements   []jsonAgreement   `json:"agreements"`
	Replications []jsonReplication `json:"replications"`
	PerPrice     []jsonPerPrice    `json:"per_price"`
	Settlings    []jsonSettling    `json:"settlings,omitempty"` // of networks that were watched before they were measured
}

// jsonComparisons says how many comparisons there are, and what follows from that.
type jsonComparisons struct {
	Made     int     `json:"made"`               // with an interval, of the metrics that answer for their workloads
	Expected float64 `json:"expected_by_chance"` // of these would be marked as different if no network differed
	Primary  int     `json:"primary"`            // that verdicts are given on
	Least    int     `json:"least_rounds"`       // without which no verdict could be "different"
	// Verdicts of the primary ones.
	Different int `json:"different"`
	Same      int `json:"same"`
	NotKnown  int `json:"not_known"`
	Untested  int `json:"untested"`
	// Further families, each corrected for itself.
	Costs    int `json:"cpu_cost"`      // of CPU cost with the baseline's
	Extremes int `json:"first_or_last"` // of the first and the last networks with the next
}

// jsonAim says how far the run came to the precision asked for.
type jsonAim struct {
	Wanted  float64 `json:"wanted"` // half width of the interval, relative
	Asked   int     `json:"asked"`  // primary figures that it is asked of
	Reached int     `json:"reached"`
	Rounds  int     `json:"rounds,omitempty"`  // about how many all of them take
	Seconds float64 `json:"seconds,omitempty"` // about how long that is
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
	Baseline   string `json:"baseline,omitempty"`  // network that is compared with, where that is not native
	HostsAre   string `json:"hosts_are,omitempty"` // "namespaces of one machine", where there are several and they are

	Networks []jsonRow     `json:"networks"`
	Extremes []jsonExtreme `json:"extremes,omitempty"`
}

// jsonExtreme is the network with the highest or lowest figure, beside the next to it.
type jsonExtreme struct {
	Metric  string          `json:"metric"`
	Highest bool            `json:"highest"` // else the lowest
	Network string          `json:"network"`
	Next    string          `json:"next"`
	Ratio   *jsonComparison `json:"ratio,omitempty"` // network ÷ next
	Shown   bool            `json:"shown"`           // it is beyond the next, by a verdict among all extremes
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
	CPU       []jsonMetric          `json:"cpu,omitempty"`        // use in the window, in CPU seconds per second
	CPUCost   []jsonMetric          `json:"cpu_cost,omitempty"`   // the same per GB or per transaction
	CPUInUse  *jsonMetric           `json:"cpu_in_use,omitempty"` // over idle, in CPU seconds per second
	Follows   bool                  `json:"cpu_cost_follows_throughput,omitempty"`
	Precision *jsonReached          `json:"precision,omitempty"`  // of the primary figure
	LimitedBy string                `json:"limited_by,omitempty"` // sender, receiver, both, softirq, link, window or generator; absent is not known
	Latency   *jsonLatency          `json:"merged_latency,omitempty"`
	Path      []record.Hop          `json:"path"`
	Endpoints []record.Endpoint     `json:"endpoints"`
	Warnings  []jsonWarning         `json:"warnings"`
}

// jsonReached says how well a primary figure is known.
type jsonReached struct {
	N         int     `json:"n"`
	HalfWidth float64 `json:"half_width,omitempty"` // of its interval, relative; absent where there is none
	Reached   bool    `json:"reached"`
	Rounds    int     `json:"rounds,omitempty"` // about how many the wanted precision takes
}

type jsonMetric struct {
	Metric   string          `json:"metric"`
	Unit     string          `json:"unit"`
	Better   string          `json:"better"`
	N        int             `json:"n"`
	Estimate float64         `json:"estimate"`           // pseudo-median; the median where a value is 0 or less
	Interval *jsonInterval   `json:"interval,omitempty"` // of the estimate; absent where there are too few trials
	Median   float64         `json:"median"`
	Min      float64         `json:"min"`
	Max      float64         `json:"max"`
	VsNative *jsonComparison `json:"vs_native,omitempty"`  // over the baseline
	Minus    *jsonComparison `json:"difference,omitempty"` // less the baseline
}

type jsonInterval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
}

// jsonComparison has a ratio or a difference. What was not tested has no interval and no p.
type jsonComparison struct {
	N          int             `json:"n"`
	Ratio      *float64        `json:"ratio,omitempty"`
	Difference *float64        `json:"difference,omitempty"`
	Interval   *jsonInterval   `json:"interval,omitempty"`
	P          *float64        `json:"p,omitempty"`
	Outcome    string          `json:"outcome"`          // by its own interval: different, same, not-known or untested
	Effect     analysis.Effect `json:"effect,omitempty"` // better or worse, of what is different
	Primary    bool            `json:"primary,omitempty"`
	Adjusted   *float64        `json:"adjusted_p,omitempty"` // for the number of comparisons in its family: primary, of CPU cost, or of extremes
	Verdict    string          `json:"verdict,omitempty"`    // the outcome among all of these
}

// jsonLatency is the distribution of all trials merged, in seconds. Its percentiles are not
// those of Metrics, which are the middle of the trials' own.
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
func writeJSON(w io.Writer, res analysis.Result, _ Options) error {
	r := jsonReport{
		SchemaVersion: JSONSchema,
		Run: jsonRun{ID: res.Run.ID, Started: timestamp(res.Run.Started), Version: res.Run.Version,
			Suite: res.Run.Suite, Note: res.Run.Note},
		Machine: res.Run.Machine, Settings: res.Run.Settings, Limits: res.Limits, Level: res.Level, Margin: res.Margin,
		Finished: timestamp(res.Finished), Elapsed: res.Elapsed,
		End: res.End, EndDetail: res.EndDetail, Rounds: res.Rounds,
		Comparisons: jsonComparisonsOf(res.Multiplicity),
		Precision:   jsonAim{res.Aim.Wanted, res.Aim.Asked, res.Aim.Narrow, res.Aim.Rounds, res.Aim.Seconds},
		Scenarios:   []jsonScenario{}, Warnings: jsonWarnings(res.Warnings),
		Sweeps: jsonSweeps(res), Agreements: jsonAgreements(res.Agreements),
		Replications: jsonReplications(res.Replications), PerPrice: jsonPerPrices(res.Prices),
		Settlings: jsonSettlings(res),
	}
	if r.Machine.CPUs == nil {
		r.Machine.CPUs = []record.CPU{}
	}
	for _, s := range res.Scenarios {
		c := s.Cell
		out := jsonScenario{
			Title: titleOf(c, s.Namespaces), Hosts: c.Hosts, Family: c.Family,
			Servers: c.Servers, Clients: c.Clients, Tool: c.Tool, Workload: c.Workload, Options: c.Options,
			Placement: c.Placement, Underlay: c.Underlay, Networks: []jsonRow{},
			Processes: c.Processes, Neighbours: c.Neighbours, Rules: c.Rules, MTU: c.MTU, Offload: c.Offload, Normalize: c.Normalize, Baseline: c.Baseline,
			HostsAre: kindOfHosts(s.Namespaces),
		}
		for _, row := range s.Rows {
			out.Networks = append(out.Networks, jsonRowOf(row))
		}
		for _, e := range s.Extremes {
			out.Extremes = append(out.Extremes, jsonExtreme{e.Kind.Name, e.Highest, e.Network.Network, e.Next.Network, jsonRatioOf(e.Ratio), e.Shown()})
		}
		r.Scenarios = append(r.Scenarios, out)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	_, err := io.WriteString(w, spelled(b.String()))
	return err
}

// spelled writes letters that nobody sees, and that a terminal may act on, by their numbers:
// they stand in strings only, which stay what they are.
func spelled(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < unicode.MaxASCII || r == '\u00a0' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, half := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, half)
		}
	}
	return b.String()
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
	for _, f := range row.Costs {
		out.CPUCost = append(out.CPUCost, jsonMetricOf(f))
	}
	if row.InUse != nil {
		m := jsonMetricOf(*row.InUse)
		out.CPUInUse = &m
	}
	out.Follows, out.LimitedBy = row.CostFollows(), row.Limit.By
	if r := row.Reached; r.N > 0 {
		out.Precision = &jsonReached{r.N, r.HalfWidth, r.Narrow, r.Rounds}
	}
	if h := row.Latency; h != nil && h.TotalCount() > 0 {
		at := func(q float64) float64 { return float64(h.ValueAtPercentile(q)) / 1e9 }
		out.Latency = &jsonLatency{Count: h.TotalCount(), Min: float64(h.Min()) / 1e9, P50: at(50), P90: at(90),
			P99: at(99), P999: at(99.9), Max: float64(h.Max()) / 1e9}
	}
	return out
}

func jsonMetricOf(f analysis.Figure) jsonMetric {
	s := f.Summary
	m := jsonMetric{Metric: f.Kind.Name, Unit: f.Kind.Unit, Better: betterName(f.Kind), N: s.N,
		Estimate: s.Estimate, Median: s.Median, Min: s.Min, Max: s.Max}
	if s.Level > 0 {
		m.Interval = &jsonInterval{s.Low, s.High, s.Level}
	}
	m.VsNative, m.Minus = jsonRatioOf(f.Ratio), jsonDifferenceOf(f.Difference)
	return m
}

func jsonRatioOf(c *analysis.Comparison) *jsonComparison {
	out := jsonComparisonOf(c)
	if out != nil {
		out.Ratio = &c.Value
	}
	return out
}

func jsonDifferenceOf(c *analysis.Comparison) *jsonComparison {
	out := jsonComparisonOf(c)
	if out != nil {
		out.Difference = &c.Value
	}
	return out
}

func jsonComparisonOf(c *analysis.Comparison) *jsonComparison {
	if c == nil {
		return nil
	}
	out := &jsonComparison{N: c.N, Outcome: c.Outcome.String(), Effect: c.Effect, Primary: c.Primary}
	if c.Judged {
		out.Verdict = c.Verdict.String()
	}
	if c.Level > 0 {
		out.Interval, out.P = &jsonInterval{c.Low, c.High, c.Level}, &c.P
		if c.Judged {
			out.Adjusted = &c.Adjusted
		}
	}
	return out
}

func jsonComparisonsOf(m analysis.Multiplicity) jsonComparisons {
	return jsonComparisons{m.Comparisons, m.Expected, m.Primary, m.Least, m.Different, m.Same, m.NotKnown, m.Untested, m.Costs, m.Extremes}
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
