package analysis

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"nettoll/record"
	"nettoll/reference"
)

// Replication compares a published measurement with a run. Absolute figures of
// different machines cannot be compared; the order of networks can, and the ratio of
// each to a baseline.
type Replication struct {
	Source      reference.Source
	Tables      []ReplicatedTable
	Conclusions []CheckedConclusion
	Measured    int // cells of all tables with a measured figure
	Cells       int // cells of all tables
}

// ReplicatedTable is one published table and what was measured of it.
type ReplicatedTable struct {
	Table reference.Table
	Kind  record.Kind      // of the metric; of CPUClient and CPUServer that of CPUKinds
	CPUs  int              // of each host; 0 where that is unknown
	Cells []ReplicatedCell // in the order of Table.Cells
	Order Correlation      // of networks at the same place: do the same ones lead?
	Shape Correlation      // of places of the same network: does it rise and fall alike?
}

// ReplicatedCell is one published figure and its measured counterpart.
type ReplicatedCell struct {
	Published reference.Published
	// PublishedRatio is the published figure over that of the table's baseline at
	// the same place; 0 where either is not given.
	PublishedRatio float64
	Cell           record.Cell // measured; zero where the run has none
	Measured       *Figure     // in the base unit of the table's Kind; nil where nothing was measured
	Ratio          *Comparison // measured, over the baseline at the same place, paired by round; nil for the baseline itself and where there is none
	Skipped        string      // why nothing was measured; "" where something was
	Notes          []string    // how the measured cell differs from the published one
	Namespaces     Namespaces  // that of its scenario

	base *Figure // of the baseline at the same place
}

// MarshalJSON writes what is known of the published and the measured figure.
func (c ReplicatedCell) MarshalJSON() ([]byte, error) {
	out := struct {
		Network        string      `json:"network"`                 // as the source calls it
		As             string      `json:"as,omitempty"`            // nettoll's network for it; "a|b" is b where a was not measured
		MeasuredOver   string      `json:"measured_over,omitempty"` // the network that Measured is of
		Label          string      `json:"label"`
		Published      *float64    `json:"published,omitempty"`
		PublishedRatio float64     `json:"published_ratio,omitempty"`
		Missing        string      `json:"missing,omitempty"` // why nothing is published
		Measured       *Figure     `json:"measured,omitempty"`
		Ratio          *Comparison `json:"ratio,omitempty"`
		Skipped        string      `json:"skipped,omitempty"`
		Notes          []string    `json:"notes,omitempty"`
		HostsAre       Namespaces  `json:"hosts_are,omitempty"`
	}{Network: c.Published.Network, As: c.Published.As, Label: c.Published.Label, PublishedRatio: c.PublishedRatio, Missing: c.Published.Missing,
		Measured: c.Measured, Ratio: c.Ratio, Skipped: c.Skipped, Notes: c.Notes, HostsAre: c.Namespaces}
	if c.Published.Given() {
		out.Published = &c.Published.Value
	}
	if c.Measured != nil {
		out.MeasuredOver = c.Cell.Network
	}
	return json.Marshal(out)
}

// StandsIn reports whether another network was measured in place of the one that the
// network is.
func (c ReplicatedCell) StandsIn() bool {
	return c.Measured != nil && slices.Index(alternatives(c.Published.As), c.Cell.Network) > 0
}

// CorrelationName is what Correlation is called in reports.
const CorrelationName = "Kendall's tau-b"

// Correlation is Kendall's tau-b of published and measured figures, over pairs
// within groups: within the same place, or within the same network.
type Correlation struct {
	Tau    float64 `json:"tau"`    // −1 to 1
	N      int     `json:"pairs"`  // pairs
	Groups int     `json:"groups"` // groups that the pairs are of
	Known  bool    `json:"-"`      // there are pairs, and neither side has nothing but ties; else Tau is 0
}

// IsZero reports whether there is no correlation.
func (c Correlation) IsZero() bool { return !c.Known }

// replicate compares a published measurement with the corresponding cells of a run, and
// checks its conclusions against both.
func replicate(res Result, src reference.Source) Replication {
	out := Replication{Source: src}
	for _, t := range src.Tables {
		rt := replicateTable(res, src, t)
		for _, c := range rt.Cells {
			out.Cells++
			if c.Measured != nil {
				out.Measured++
			}
		}
		out.Tables = append(out.Tables, rt)
	}
	for _, c := range src.Conclusions {
		out.Conclusions = append(out.Conclusions, checkConclusion(c, out.Tables, judgingOf(res.Limits)))
	}
	return out
}

func replicateTable(res Result, src reference.Source, t reference.Table) ReplicatedTable {
	out := ReplicatedTable{Table: t, Kind: kindNamed(t.Metric), CPUs: len(res.Run.Machine.CPUs)}
	j := judgingOf(res.Limits)
	chosen := map[string]match{}
	for _, c := range t.Columns {
		chosen[c.Label] = findScenario(res.Scenarios, t, c.Place)
	}
	for _, p := range t.Cells {
		m := chosen[p.Label]
		c := ReplicatedCell{Published: p}
		c.PublishedRatio, _ = p.RatioIn(t)
		baseRow, f, ok := m.figure(baselineAs(src, t, p.Label), out.Kind)
		if ok {
			c.base = &f
		}
		if c.measure(m, out.Kind, t).Apart {
			out.CPUs = 0 // those of another machine are not in the record
		}
		if why := leftOut(res.Run.Skips, p); why != "" && c.Measured == nil && c.Cell == (record.Cell{}) {
			c.Skipped += ": " + why
		}
		if c.Measured != nil && c.base != nil {
			switch {
			case p.Network == t.Baseline:
			case c.Cell == baseRow.Cell:
				c.Notes = append(c.Notes, "the same network here as "+t.Baseline)
			case c.Measured.Kind.Name != c.base.Kind.Name: // not the same thing
			default:
				c.Ratio = compare(pairUp(c.Measured.Points, c.base.Points), out.Kind.Better, j)
			}
		}
		out.Cells = append(out.Cells, c)
	}
	out.Order = correlate(out.Cells, t.Relative, func(c ReplicatedCell) string { return c.Published.Label })
	out.Shape = correlate(out.Cells, t.Relative, func(c ReplicatedCell) string { return c.Published.Network })
	return out
}

// NotInRun is the reason of published cells that the run has no cell for. The name of the missing network
// may precede it.
const NotInRun = "not part of this run"

// measure finds what was measured of the published cell, and where.
func (c *ReplicatedCell) measure(m match, k record.Kind, t reference.Table) (row Row) {
	p := c.Published
	if p.As == "" {
		c.Skipped = "nettoll has no counterpart of " + p.Network
		if other := otherAs(t, p.Network); other != "" {
			c.Skipped += " at this place"
		}
		return row
	}
	row, f, ok := m.figure(p.As, k)
	switch {
	case !m.found:
		c.Skipped = NotInRun
		return row
	case row.Cell.Network == "":
		c.Skipped = strings.Join(alternatives(p.As), " or ") + " is " + NotInRun
		return row
	}
	c.Cell = row.Cell
	switch {
	case row.Status == "":
		c.Skipped = "planned, but never tried"
	case row.Status != record.OK:
		c.Skipped = string(row.Status)
		if row.Reason != "" {
			c.Skipped += ": " + row.Reason
		}
	case !ok:
		c.Skipped = row.Cell.Tool + " did not measure " + k.Title
	default:
		c.Measured, c.Namespaces = &f, m.scenario.Namespaces
		c.Notes = m.notes(row, f, k, p, t)
	}
	return row
}

// leftOut is why the suite leaves out a network on purpose.
func leftOut(skips []record.Skip, p reference.Published) string {
	for _, s := range skips {
		if s.Network == p.Network || slices.Contains(alternatives(p.As), s.Network) {
			return s.Reason
		}
	}
	return ""
}

// kindNamed is the kind of a table's metric.
func kindNamed(metric string) record.Kind {
	for _, k := range CPUKinds() {
		if k.Name == metric {
			return k
		}
	}
	k, _ := record.KindOf(metric)
	return k
}

// baselineAs is nettoll's network of the table's baseline in a column.
func baselineAs(src reference.Source, t reference.Table, label string) string {
	if p, ok := t.Cell(t.Baseline, label); ok {
		return p.As
	}
	network, _ := src.Network(t.Baseline)
	return network.As
}

// otherAs is what a network is taken for at any place of the table.
func otherAs(t reference.Table, network string) string {
	for _, p := range t.Cells {
		if p.Network == network && p.As != "" {
			return p.As
		}
	}
	return ""
}

// correlate gives Kendall's tau-b of published and measured figures: of all pairs
// of cells within a group, the concordant ones less the discordant ones, over the
// geometric mean of the pairs that are not tied in either. Kendall, Rank
// Correlation Methods. Pairs of different groups are not compared, so that a
// correlation of the order of networks does not feed on the number of clients.
// Cells without a number, or of one network taken for two, make no pair.
//
// In a table of figures relative to a baseline the measured ones are made
// relative, too.
func correlate(cells []ReplicatedCell, relative bool, group func(ReplicatedCell) string) Correlation {
	t := tally{groups: map[string]bool{}}
	t.count(cells, relative, group)
	return t.correlation()
}

// tally counts pairs; those of several tables can be counted together.
type tally struct {
	concordant, discordant  int
	tiedPublished, tiedHere int
	n                       int
	groups                  map[string]bool
}

func (t *tally) count(cells []ReplicatedCell, relative bool, group func(ReplicatedCell) string) {
	for i, a := range cells {
		x, ok := a.here(relative)
		if !ok {
			continue
		}
		for _, b := range cells[i+1:] {
			y, ok := b.here(relative)
			if !ok || group(a) != group(b) || a.Cell == b.Cell {
				continue
			}
			t.n++
			t.groups[group(a)] = true
			published, measured := cmp.Compare(a.Published.Value, b.Published.Value), cmp.Compare(x, y)
			if published == 0 {
				t.tiedPublished++
			}
			if measured == 0 {
				t.tiedHere++
			}
			switch published * measured {
			case 1:
				t.concordant++
			case -1:
				t.discordant++
			}
		}
	}
}

func (t *tally) correlation() Correlation {
	c := Correlation{N: t.n, Groups: len(t.groups)}
	scale := math.Sqrt(float64(t.n-t.tiedPublished) * float64(t.n-t.tiedHere))
	if scale > 0 {
		c.Known = true
		c.Tau = min(1, max(-1, float64(t.concordant-t.discordant)/scale))
	}
	return c
}

// here is the measured counterpart of a published number.
func (c ReplicatedCell) here(relative bool) (v float64, ok bool) {
	switch {
	case !c.Published.Given() || c.Measured == nil:
		return 0, false
	case relative && c.Ratio == nil:
		return 0, false
	case relative:
		return c.Ratio.Value, true
	}
	return c.Measured.Summary.Estimate, true
}
