package report

import (
	"nettoll/analysis"
	"nettoll/record"
)

type jsonSweep struct {
	Title  string      `json:"title"`
	Cell   record.Cell `json:"cell"` // what all share; zero where the axes vary
	X      jsonAxis    `json:"x"`
	Y      *jsonAxis   `json:"y,omitempty"` // of a matrix
	Points []jsonPoint `json:"points"`

	HostsAre string `json:"hosts_are,omitempty"` // as in a scenario
}

type jsonAxis struct {
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	Unit    string     `json:"unit,omitempty"`
	Numeric bool       `json:"numeric"`
	Ticks   []jsonTick `json:"ticks"`
}

type jsonTick struct {
	Value float64 `json:"value"`
	Label string  `json:"label"`
}

type jsonPoint struct {
	Network string        `json:"network"`
	Native  bool          `json:"native"`
	X       string        `json:"x"` // labels of ticks
	Y       string        `json:"y,omitempty"`
	Status  record.Status `json:"status"`
	Reason  string        `json:"reason,omitempty"`
	Metrics []jsonMetric  `json:"metrics"` // those that the sweep is about
}

// jsonSweeps leaves out what other sweeps hold whole.
func jsonSweeps(res analysis.Result) []jsonSweep {
	out := []jsonSweep{}
	sweeps, _ := shownSweeps(res.Sweeps)
	titles := sweepTitles(sweeps)
	for i, s := range sweeps {
		js := jsonSweep{Title: titles[i], Cell: s.Cell, X: jsonAxisOf(s.X, s.XTicks), Points: []jsonPoint{}, HostsAre: kindOfHosts(s.Namespaces)}
		if s.Matrix() {
			y := jsonAxisOf(s.Y, s.YTicks)
			js.Y = &y
		}
		kinds := kindsOfSweep(s)
		for _, l := range s.Lines {
			for _, at := range spots(s) {
				row := pointAt(l, at)
				if row == nil {
					continue
				}
				p := jsonPoint{Network: l.Network, Native: l.Native, X: s.XTicks[at.x].Label, Status: row.Status, Reason: row.Reason, Metrics: []jsonMetric{}}
				if s.Matrix() {
					p.Y = s.YTicks[at.y].Label
				}
				for _, k := range kinds {
					if f, ok := row.Figure(k.Name); ok {
						p.Metrics = append(p.Metrics, jsonMetricOf(f))
					}
				}
				js.Points = append(js.Points, p)
			}
		}
		out = append(out, js)
	}
	return out
}

func jsonAxisOf(a analysis.Axis, ticks []analysis.Tick) jsonAxis {
	out := jsonAxis{a.Name, a.Title, a.Unit, a.Numeric, []jsonTick{}}
	for _, t := range ticks {
		out.Ticks = append(out.Ticks, jsonTick{t.Value, t.Label})
	}
	return out
}

type jsonAgreement struct {
	Cell      record.Cell     `json:"cell"` // without its tool
	Reference string          `json:"reference"`
	Tool      string          `json:"tool"`
	Expected  jsonMetric      `json:"expected"` // of the reference
	Found     jsonMetric      `json:"found"`    // of the tool
	Ratio     *jsonComparison `json:"ratio,omitempty"`
	Outcome   string          `json:"outcome"` // same (they agree), different, not-known or untested
	Reasons   []jsonWarning   `json:"reasons"`
	HostsAre  string          `json:"hosts_are,omitempty"`
}

func jsonAgreements(all []analysis.Agreement) []jsonAgreement {
	out := []jsonAgreement{}
	for _, a := range all {
		out = append(out, jsonAgreement{a.Cell, a.Reference, a.Tool, jsonMetricOf(a.Expected), jsonMetricOf(a.Found),
			jsonRatioOf(a.Ratio), a.Outcome().String(), jsonWarnings(a.Reasons), kindOfHosts(a.Namespaces)})
	}
	return out
}

type jsonReplication struct {
	Source      string           `json:"source"`
	Title       string           `json:"title"`
	Year        int              `json:"year,omitempty"`
	Cells       int              `json:"cells"`
	Measured    int              `json:"measured"`
	Tables      []jsonTable      `json:"tables"`
	Conclusions []jsonConclusion `json:"conclusions"`
}

type jsonTable struct {
	Name     string          `json:"name"`
	Metric   string          `json:"metric"`
	Unit     string          `json:"unit"` // as published
	Baseline string          `json:"baseline,omitempty"`
	Cells    []jsonPublished `json:"cells"`
	Order    *jsonTau        `json:"order,omitempty"` // rank correlation of techniques at the same place
	Shape    *jsonTau        `json:"shape,omitempty"` // and of places of the same technique
}

type jsonTau struct {
	Tau    float64 `json:"tau"`
	Pairs  int     `json:"pairs"`
	Groups int     `json:"groups"`
}

type jsonPublished struct {
	Network        string          `json:"network"`                 // as the source calls it
	As             string          `json:"as,omitempty"`            // nettoll's network for it; "a|b" is b where a was not measured
	MeasuredOver   string          `json:"measured_over,omitempty"` // the network that Measured is of
	Label          string          `json:"label"`
	Published      *float64        `json:"published,omitempty"`
	PublishedRatio *float64        `json:"published_ratio,omitempty"` // over the baseline at the same place
	Missing        string          `json:"missing,omitempty"`         // why nothing is published
	Measured       *jsonMetric     `json:"measured,omitempty"`
	Ratio          *jsonComparison `json:"ratio,omitempty"`
	Skipped        string          `json:"skipped,omitempty"` // why nothing is measured
	Notes          []string        `json:"notes,omitempty"`
	HostsAre       string          `json:"hosts_are,omitempty"` // of what was measured
}

type jsonConclusion struct {
	Text      string   `json:"text"`
	Published string   `json:"published"` // holds, does-not-hold, cannot-tell or not-measurable
	Measured  string   `json:"measured"`
	Said      string   `json:"said,omitempty"`
	Evidence  []string `json:"evidence,omitempty"`
}

func jsonReplications(all []analysis.Replication) []jsonReplication {
	out := []jsonReplication{}
	names := map[analysis.Judgement]string{analysis.Holds: "holds", analysis.DoesNotHold: "does-not-hold",
		analysis.CannotTell: "cannot-tell", analysis.NotMeasurable: "not-measurable"}
	for _, r := range all {
		jr := jsonReplication{Source: r.Source.Name, Title: r.Source.Title, Year: r.Source.Year, Cells: r.Cells, Measured: r.Measured,
			Tables: []jsonTable{}, Conclusions: []jsonConclusion{}}
		for _, t := range r.Tables {
			jt := jsonTable{Name: t.Table.Name, Metric: t.Table.Metric, Unit: t.Table.Unit, Baseline: t.Table.Baseline, Cells: []jsonPublished{},
				Order: jsonTauOf(t.Order), Shape: jsonTauOf(t.Shape)}
			for _, c := range t.Cells {
				jt.Cells = append(jt.Cells, jsonPublishedOf(c))
			}
			jr.Tables = append(jr.Tables, jt)
		}
		for _, c := range r.Conclusions {
			jr.Conclusions = append(jr.Conclusions, jsonConclusion{c.Conclusion.Text, names[c.Published], names[c.Measured], c.Text, c.Evidence})
		}
		out = append(out, jr)
	}
	return out
}

func jsonTauOf(c analysis.Correlation) *jsonTau {
	if !c.Known {
		return nil
	}
	return &jsonTau{c.Tau, c.N, c.Groups}
}

func jsonPublishedOf(c analysis.ReplicatedCell) jsonPublished {
	out := jsonPublished{Network: c.Published.Network, As: c.Published.As, Label: c.Published.Label, Missing: c.Published.Missing,
		Ratio: jsonRatioOf(c.Ratio), Skipped: c.Skipped, Notes: c.Notes, HostsAre: kindOfHosts(c.Namespaces)}
	if c.Published.Given() {
		out.Published = &c.Published.Value
	}
	if c.PublishedRatio > 0 {
		out.PublishedRatio = &c.PublishedRatio
	}
	if c.Measured != nil {
		m := jsonMetricOf(*c.Measured)
		out.Measured, out.MeasuredOver = &m, c.Cell.Network
	}
	return out
}

type jsonPerPrice struct {
	Cell      record.Cell   `json:"cell"`
	Instance  string        `json:"instance"`
	Price     float64       `json:"usd_an_hour"`
	PerDollar float64       `json:"bit_s_per_usd_an_hour"`
	Interval  *jsonInterval `json:"interval,omitempty"`
	HostsAre  string        `json:"hosts_are,omitempty"`
}

func jsonPerPrices(all []analysis.PerPrice) []jsonPerPrice {
	out := []jsonPerPrice{}
	for _, p := range all {
		jp := jsonPerPrice{Cell: p.Cell, Instance: p.Instance.Name, Price: p.Instance.Price, PerDollar: p.PerDollar.Estimate, HostsAre: kindOfHosts(p.Namespaces)}
		if p.PerDollar.Level > 0 {
			jp.Interval = &jsonInterval{p.PerDollar.Low, p.PerDollar.High, p.PerDollar.Level}
		}
		out = append(out, jp)
	}
	return out
}
