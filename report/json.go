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

// JSONSchema is the version of the JSON report. It increases when a field is removed or changes its meaning.
const JSONSchema = 2

// jsonReport is the result of an analysis with the titles that reports give it. Most of it is written unchanged.
type jsonReport struct {
	SchemaVersion int                   `json:"schema_version"`
	Run           jsonRun               `json:"run"`
	Machine       record.Machine        `json:"machine"`
	Settings      record.Settings       `json:"settings"` // of the run
	Limits        record.Settings       `json:"limits"`   // in force at its end
	Level         float64               `json:"level"`    // of intervals and tests
	Margin        float64               `json:"margin"`   // differences up to this share of the baseline count as none
	Finished      string                `json:"finished,omitempty"`
	Elapsed       float64               `json:"elapsed_s"` // of all processes that worked on the run
	End           string                `json:"end,omitempty"`
	EndDetail     string                `json:"end_detail,omitempty"`
	Rounds        int                   `json:"rounds"`
	Comparisons   analysis.Multiplicity `json:"comparisons"`
	Precision     analysis.Aim          `json:"precision"`
	Scenarios     []jsonScenario        `json:"scenarios"`
	Warnings      []analysis.Warning    `json:"warnings"`

	Sweeps       []jsonSweep          `json:"sweeps"`
	Agreements   []analysis.Agreement `json:"agreements"`
	Replications []jsonReplication    `json:"replications"`
	PerPrice     []jsonPerPrice       `json:"per_price"`
	Settlings    []jsonSettling       `json:"settlings,omitempty"` // of networks that were watched before they were measured
}

type jsonRun struct {
	ID      string `json:"id"`
	Started string `json:"started,omitempty"`
	Version string `json:"version"`
	Suite   string `json:"suite"`
	Note    string `json:"note,omitempty"`
}

type jsonScenario struct {
	Title string `json:"title"`
	record.Cell
	Network  string              `json:"network,omitempty"`  // empty, since it differs
	Baseline string              `json:"baseline,omitempty"` // network that the others are compared with, if not native
	HostsAre analysis.Namespaces `json:"hosts_are,omitempty"`
	Networks []analysis.Row      `json:"networks"`
	Extremes []analysis.Extreme  `json:"extremes,omitempty"`
}

type jsonSweep struct {
	Title    string              `json:"title"`
	Cell     record.Cell         `json:"cell"` // common to all; zero where the axes vary
	X        jsonAxis            `json:"x"`
	Y        *jsonAxis           `json:"y,omitempty"` // of a matrix
	Points   []jsonPoint         `json:"points"`
	HostsAre analysis.Namespaces `json:"hosts_are,omitempty"`
}

type jsonAxis struct {
	analysis.Axis
	Ticks []analysis.Tick `json:"ticks"`
}

type jsonPoint struct {
	Network string            `json:"network"`
	Native  bool              `json:"native"`
	X       string            `json:"x"` // labels of ticks
	Y       string            `json:"y,omitempty"`
	Status  record.Status     `json:"status"`
	Reason  string            `json:"reason,omitempty"`
	Metrics []analysis.Figure `json:"metrics"` // the metrics of the sweep
}

type jsonReplication struct {
	Source      string                       `json:"source"`
	Title       string                       `json:"title"`
	Year        int                          `json:"year,omitempty"`
	Cells       int                          `json:"cells"`
	Measured    int                          `json:"measured"`
	Tables      []jsonTable                  `json:"tables"`
	Conclusions []analysis.CheckedConclusion `json:"conclusions"`
}

type jsonTable struct {
	Name     string                    `json:"name"`
	Metric   string                    `json:"metric"`
	Unit     string                    `json:"unit"` // as published
	Baseline string                    `json:"baseline,omitempty"`
	Cells    []analysis.ReplicatedCell `json:"cells"`
	Order    analysis.Correlation      `json:"order,omitzero"` // of networks at the same place
	Shape    analysis.Correlation      `json:"shape,omitzero"` // of places of the same network
}

type jsonPerPrice struct {
	Cell              record.Cell `json:"cell"`
	Instance          string      `json:"instance"`
	Price             float64     `json:"usd_an_hour"`
	PerDollar         float64     `json:"bit_s_per_usd_an_hour"`
	analysis.Interval `json:"interval,omitzero"`
	HostsAre          analysis.Namespaces `json:"hosts_are,omitempty"`
}

type jsonSettling struct {
	Network   string `json:"network"`
	Hosts     int    `json:"hosts"`
	Servers   int    `json:"servers"`
	Clients   int    `json:"clients"`
	Processes int    `json:"processes,omitempty"`
	record.Setup
	MTU      int    `json:"mtu,omitempty"`
	Underlay string `json:"underlay,omitempty"`
	analysis.Settling
}

// writeJSON writes everything in base units. Lists are never null, and unknown figures are absent.
func writeJSON(w io.Writer, res analysis.Result, _ Options) error {
	r := jsonReport{
		SchemaVersion: JSONSchema,
		Run:           jsonRun{res.Run.ID, timestamp(res.Run.Started), res.Run.Version, res.Run.Suite, res.Run.Note},
		Machine:       res.Run.Machine, Settings: res.Run.Settings, Limits: res.Limits, Level: res.Level, Margin: res.Margin,
		Finished: timestamp(res.Finished), Elapsed: res.Elapsed, End: res.End, EndDetail: res.EndDetail, Rounds: res.Rounds,
		Comparisons: res.Multiplicity, Precision: res.Aim, Scenarios: []jsonScenario{}, Warnings: append([]analysis.Warning{}, res.Warnings...),
		Sweeps: jsonSweeps(res), Agreements: append([]analysis.Agreement{}, res.Agreements...), Replications: []jsonReplication{}, PerPrice: []jsonPerPrice{},
	}
	r.Machine.CPUs = append([]record.CPU{}, r.Machine.CPUs...)
	for _, s := range res.Scenarios {
		r.Scenarios = append(r.Scenarios, jsonScenario{Title: titleOf(s.Cell, s.Namespaces), Cell: s.Cell, Baseline: s.Cell.Baseline,
			HostsAre: s.Namespaces, Networks: append([]analysis.Row{}, s.Rows...), Extremes: s.Extremes})
	}
	for _, from := range res.Replications {
		to := jsonReplication{from.Source.Name, from.Source.Title, from.Source.Year, from.Cells, from.Measured, []jsonTable{},
			append([]analysis.CheckedConclusion{}, from.Conclusions...)}
		for _, t := range from.Tables {
			to.Tables = append(to.Tables, jsonTable{t.Table.Name, t.Table.Metric, t.Table.Unit, t.Table.Baseline,
				append([]analysis.ReplicatedCell{}, t.Cells...), t.Order, t.Shape})
		}
		r.Replications = append(r.Replications, to)
	}
	for _, p := range res.Prices {
		r.PerPrice = append(r.PerPrice, jsonPerPrice{p.Cell, p.Instance.Name, p.Instance.Price, p.PerDollar.Estimate, p.PerDollar.Interval, p.Namespaces})
	}
	for _, s := range res.Settlings {
		c := s.Cell
		r.Settlings = append(r.Settlings, jsonSettling{c.Network, c.Hosts, c.Servers, c.Clients, c.Processes, c.Setup, c.MTU, c.Underlay, s})
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

// spelled escapes invisible characters, which a terminal may act on. They occur only in
// strings, whose value stays the same.
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

// jsonSweeps leaves out sweeps that are contained in others and add nothing to them.
func jsonSweeps(res analysis.Result) []jsonSweep {
	out := []jsonSweep{}
	sweeps, _ := shownSweeps(res.Sweeps)
	titles := sweepTitles(sweeps)
	for i, s := range sweeps {
		js := jsonSweep{Title: titles[i], Cell: s.Cell, X: jsonAxis{s.X, s.XTicks}, Points: []jsonPoint{}, HostsAre: s.Namespaces}
		if s.Matrix() {
			js.Y = &jsonAxis{s.Y, s.YTicks}
		}
		for _, l := range s.Lines {
			for _, at := range l.Points {
				p := jsonPoint{Network: l.Network, Native: l.Native, X: s.XTicks[at.X].Label, Status: at.Row.Status, Reason: at.Row.Reason, Metrics: []analysis.Figure{}}
				if s.Matrix() {
					p.Y = s.YTicks[at.Y].Label
				}
				for _, k := range s.Kinds {
					if f, ok := at.Row.Figure(k.Name); ok {
						p.Metrics = append(p.Metrics, f)
					}
				}
				js.Points = append(js.Points, p)
			}
		}
		out = append(out, js)
	}
	return out
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
