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

// jsonSchema is the version of the JSON report. It increases when a field is removed or changes its meaning.
const jsonSchema = 2

// jsonReport is the result of an analysis, with the titles that reports give to its parts.
type jsonReport struct {
	SchemaVersion int                    `json:"schema_version"`
	Run           jsonRun                `json:"run"`
	Machine       record.Machine         `json:"machine"`
	Settings      record.Settings        `json:"settings"` // of the run
	Limits        record.Settings        `json:"limits"`   // in force at its end
	Level         float64                `json:"level"`    // of intervals and tests
	Margin        float64                `json:"margin"`   // differences up to this share of the baseline count as none
	Finished      string                 `json:"finished,omitempty"`
	Elapsed       float64                `json:"elapsed_s"` // of all processes that worked on the run
	End           string                 `json:"end,omitempty"`
	EndDetail     string                 `json:"end_detail,omitempty"`
	Rounds        int                    `json:"rounds"`
	Comparisons   analysis.Multiplicity  `json:"comparisons"`
	Precision     jsonPrecision          `json:"precision"`
	DisturbedBy   []string               `json:"disturbed_by"` // codes of caveats
	SelfCheck     *analysis.FalseAlarms  `json:"self_check,omitempty"`
	Scenarios     []jsonScenario         `json:"scenarios"`
	Warnings      []analysis.Warning     `json:"warnings"`
	Sweeps        []jsonSweep            `json:"sweeps"`
	Agreements    []analysis.Agreement   `json:"agreements"`
	Replications  []analysis.Replication `json:"replications"`
	PerPrice      []analysis.PerPrice    `json:"per_price"`
	Settlings     []analysis.Settling    `json:"settlings,omitempty"` // of networks that were watched before they were measured
	InForce       []analysis.InForce     `json:"in_force,omitempty"`  // of networks whose building measures it
	NodeDaemons   []analysis.NodeUse     `json:"node_daemons,omitempty"`
}

// jsonPrecision is what was requested, and to within what half of the changes are known, and all of them.
type jsonPrecision struct {
	analysis.Aim
	Half float64 `json:"half_of_changes,omitempty"`
	Most float64 `json:"all_changes,omitempty"`
}

// jsonRun is the run without its plan: scenarios have the cells.
type jsonRun struct {
	ID      string `json:"id"`
	Started string `json:"started,omitempty"`
	Version string `json:"version"`
	Suite   string `json:"suite"`
	Note    string `json:"note,omitempty"`
}

type jsonScenario struct {
	Title   string `json:"title"`
	Network string `json:"network,omitempty"` // always empty, and hides that of the cell: each row has its own
	analysis.Scenario
}

type jsonSweep struct {
	Title string `json:"title"`
	analysis.Sweep
	Points []jsonPoint `json:"points"`
}

// jsonPoint is a point of a sweep without the row, which is part of a scenario, but for the metrics of the sweep.
type jsonPoint struct {
	Network string            `json:"network"`
	Native  bool              `json:"native"`
	X       string            `json:"x"` // labels of ticks
	Y       string            `json:"y,omitempty"`
	Status  record.Status     `json:"status"`
	Reason  string            `json:"reason,omitempty"`
	Metrics []analysis.Figure `json:"metrics"` // the metrics of the sweep
}

// writeJSON writes everything in base units. Lists are never null, and unknown figures are absent.
func writeJSON(w io.Writer, res analysis.Result, _ Options) error {
	half, most, _ := res.Widths()
	r := jsonReport{
		SchemaVersion: jsonSchema,
		Run:           jsonRun{res.Run.ID, timestamp(res.Run.Started), res.Run.Version, res.Run.Suite, res.Run.Note},
		Machine:       res.Run.Machine, Settings: res.Run.Settings, Limits: res.Limits, Level: res.Level, Margin: res.Margin,
		Finished: timestamp(res.Finished), Elapsed: res.Elapsed, End: res.End, EndDetail: res.EndDetail, Rounds: res.Rounds,
		Comparisons: res.Multiplicity, Precision: jsonPrecision{res.Aim, half, most}, DisturbedBy: listed(res.DisturbedBy()), SelfCheck: res.SelfCheck, Scenarios: []jsonScenario{}, Warnings: listed(res.Warnings), Sweeps: jsonSweeps(res),
		Agreements: listed(res.Agreements), Replications: listed(res.Replications), PerPrice: listed(res.Prices), Settlings: res.Settlings, InForce: res.InForce, NodeDaemons: res.NodeUses,
	}
	r.Machine.CPUs = listed(r.Machine.CPUs)
	for _, s := range res.Scenarios {
		s.Rows = listed(s.Rows)
		r.Scenarios = append(r.Scenarios, jsonScenario{Title: titleOf(s.Cell, s.Namespaces), Scenario: s})
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

// listed returns a list that JSON does not write as null.
func listed[T any](all []T) []T { return append([]T{}, all...) }

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
		js := jsonSweep{Title: titles[i], Sweep: s, Points: []jsonPoint{}}
		for _, l := range s.Lines {
			for _, at := range l.Points {
				p := jsonPoint{Network: l.Network, Native: l.Native, X: s.X.Ticks[at.X].Label, Status: at.Row.Status, Reason: at.Row.Reason}
				if s.Matrix() {
					p.Y = s.Y.Ticks[at.Y].Label
				}
				p.Metrics = listed(record.Found(s.Kinds, func(k record.Kind) (analysis.Figure, bool) { return at.Row.Figure(k.Name) }))
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
