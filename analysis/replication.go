package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"nettoll/record"
	"nettoll/reference"
)

// Replication compares a published measurement with a run. Absolute figures of different
// machines cannot be compared; the order of networks can, and the ratio of each to a baseline.
type Replication struct {
	Source      reference.Source    `json:"-"`
	Cells       int                 `json:"cells"`    // of all tables
	Measured    int                 `json:"measured"` // of these, cells with a measured figure
	Tables      []ReplicatedTable   `json:"tables"`
	Conclusions []CheckedConclusion `json:"conclusions"`
}

// MarshalJSON writes which source it is, and nothing else of it. Lists are never null.
func (r Replication) MarshalJSON() ([]byte, error) {
	type replication Replication
	r.Tables, r.Conclusions = listed(r.Tables), listed(r.Conclusions)
	return json.Marshal(struct {
		Source string `json:"source"`
		Title  string `json:"title"`
		Year   int    `json:"year,omitempty"`
		replication
	}{r.Source.Name, r.Source.Title, r.Source.Year, replication(r)})
}

// ReplicatedTable is one published table with the corresponding measurements.
type ReplicatedTable struct {
	Table reference.Table  `json:"-"`
	Kind  record.Kind      `json:"-"`              // of the metric; for CPUClient and CPUServer from CPUKinds
	CPUs  int              `json:"-"`              // of each host; 0 if unknown
	Cells []ReplicatedCell `json:"cells"`          // in the order of Table.Cells
	Order Correlation      `json:"order,omitzero"` // of networks at the same place: are the same ones ahead?
	Shape Correlation      `json:"shape,omitzero"` // of places of the same network: do figures rise and fall alike?
}

// MarshalJSON writes what the table is of, and none of the published figures but those of its cells.
func (t ReplicatedTable) MarshalJSON() ([]byte, error) {
	type table ReplicatedTable
	t.Cells = listed(t.Cells)
	return json.Marshal(struct {
		Name     string `json:"name"`
		Metric   string `json:"metric"`
		Unit     string `json:"unit"` // as published
		Baseline string `json:"baseline,omitempty"`
		table
	}{t.Table.Name, t.Table.Metric, t.Table.Unit, t.Table.Baseline, table(t)})
}

// ReplicatedCell is one published figure and its measured counterpart.
type ReplicatedCell struct {
	Published reference.Published
	// PublishedRatio is the published figure over that of the table's
	// baseline at the same place; 0 if either is not given.
	PublishedRatio float64
	Cell           record.Cell // measured; zero if the run has none
	Measured       *Figure     // in the base unit of the table's Kind; nil if nothing was measured
	Ratio          *Comparison // measured, over the baseline at the same place, paired by round; nil for the baseline itself and if there is none
	Skipped        string      // why nothing was measured; "" if something was
	Unplanned      bool        // Skipped says no more than that the run has no cell for it
	Notes          []string    // how the measured cell differs from the published one
	Namespaces     Namespaces  // of the scenario

	base *Figure // of the baseline at the same place
}

// MarshalJSON writes what is known of the published and the measured figure.
func (c ReplicatedCell) MarshalJSON() ([]byte, error) {
	out := struct {
		Network        string      `json:"network"`                 // as the source names it
		As             string      `json:"as,omitempty"`            // nettoll's network for it; "a|b" means b if a was not measured
		MeasuredOver   string      `json:"measured_over,omitempty"` // the network of Measured
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

// StandsIn reports whether a network other than the preferred counterpart was measured in its place.
func (c ReplicatedCell) StandsIn() bool {
	return c.Measured != nil && slices.Index(alternatives(c.Published.As), c.Cell.Network) > 0
}

// CorrelationName is the name of Correlation in reports.
const CorrelationName = "Kendall's tau-b"

// Correlation is Kendall's tau-b of published and measured figures, over pairs
// within groups: within the same place, or within the same network.
type Correlation struct {
	Tau    float64 `json:"tau"`    // −1 to 1
	N      int     `json:"pairs"`  // pairs
	Groups int     `json:"groups"` // groups that the pairs belong to
	Known  bool    `json:"-"`      // there are pairs, and neither side consists of ties only; otherwise Tau is 0
}

// IsZero reports whether there is no correlation.
func (c Correlation) IsZero() bool { return !c.Known }

// replicate compares a published measurement with the corresponding cells of a run, and
// checks its conclusions against both.
func replicate(res Result, src reference.Source) Replication {
	out := Replication{Source: src}
	for _, t := range src.Tables {
		rt := replicateTable(res, src, t)
		out.Cells += len(rt.Cells)
		out.Measured += len(record.Those(rt.Cells, func(c ReplicatedCell) bool { return c.Measured != nil }))
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
		chosen[c.Label] = findScenario(res.Scenarios, t, c)
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
			out.CPUs = 0 // the CPUs of another machine are not in the record
		}
		if why := leftOut(res.Run.Skips, p); why != "" && c.Measured == nil && c.Cell == (record.Cell{}) {
			c.Skipped, c.Unplanned = c.Skipped+": "+why, false
		}
		if c.Measured != nil && c.base != nil {
			switch {
			case p.Network == t.Baseline:
			case c.Cell == baseRow.Cell:
				c.Notes = append(c.Notes, "here the same network as "+t.Baseline)
			case c.Measured.Kind.Name != c.base.Kind.Name: // different quantities
			default:
				c.Ratio = compare(pairFigures(c.Measured, c.base), out.Kind.Better, j)
			}
		}
		out.Cells = append(out.Cells, c)
	}
	out.Order = correlate(out.Cells, t.Relative, func(c ReplicatedCell) string { return c.Published.Label })
	out.Shape = correlate(out.Cells, t.Relative, func(c ReplicatedCell) string { return c.Published.Network })
	return out
}

// NotInRun is the reason for published cells without a cell in the run.
// The name of the missing network may precede it.
const NotInRun = "not part of this run"

// measure finds the measured counterpart of the published cell, and its row.
func (c *ReplicatedCell) measure(m match, k record.Kind, t reference.Table) (row Row) {
	p := c.Published
	if p.As == "" {
		c.Skipped = "nettoll has no counterpart of " + p.Network
		if slices.ContainsFunc(t.Cells, func(o reference.Published) bool { return o.Network == p.Network && o.As != "" }) {
			c.Skipped += " at this place"
		}
		return row
	}
	row, f, ok := m.figure(p.As, k)
	switch {
	case !m.found:
		c.Skipped, c.Unplanned = NotInRun, true
		return row
	case row.Cell.Network == "":
		c.Skipped, c.Unplanned = strings.Join(alternatives(p.As), " or ")+" is "+NotInRun, true
		return row
	}
	c.Cell = row.Cell
	switch {
	case row.Status == "":
		c.Skipped = "planned, but not tried"
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

// leftOut returns the reason why the suite deliberately leaves out a network, or "".
func leftOut(skips []record.Skip, p reference.Published) string {
	s, _ := record.First(skips, func(s record.Skip) bool {
		return s.Network == p.Network || slices.Contains(alternatives(p.As), s.Network)
	})
	return s.Reason
}

// kindNamed returns the kind of a table's metric.
func kindNamed(metric string) record.Kind {
	k, _ := record.First(append(CPUKinds(), record.Kinds()...), func(k record.Kind) bool { return k.Name == metric })
	return k
}

// baselineAs returns nettoll's counterpart of the table's baseline in a column.
func baselineAs(src reference.Source, t reference.Table, label string) string {
	if p, ok := t.Cell(t.Baseline, label); ok {
		return p.As
	}
	network, _ := src.Network(t.Baseline)
	return network.As
}

// correlate returns Kendall's tau-b of published and measured figures: of all pairs of cells within a
// group, the concordant ones less the discordant ones, over the geometric mean of the numbers of pairs
// that are not tied on either side. See Kendall, Rank Correlation Methods. Pairs of different groups
// are not compared, so that a correlation of the order of networks does not depend on the number of
// clients. Cells without a number, and cells that the same network stands in for, make no pair.
//
// In a table of figures relative to a baseline the measured ones are made relative, too.
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

// here returns the measured counterpart of a published number.
func (c ReplicatedCell) here(relative bool) (v float64, ok bool) {
	switch {
	case !c.Published.Given() || c.Measured == nil || relative && c.Ratio == nil:
		return 0, false
	case relative:
		return c.Ratio.Value, true
	}
	return c.Measured.Summary.Estimate, true
}

// match is the scenario of a run that stands for a column of a published table.
type match struct {
	scenario Scenario
	found    bool
}

// findScenario finds the scenario in which most of a column's networks were
// measured; of several, the one most like the published one: with the same tool,
// the same number of streams, and without conditions that the source does not have.
func findScenario(all []Scenario, t reference.Table, at reference.Place) match {
	var best match
	var most, least int
	column := record.Those(t.Cells, func(p reference.Published) bool { return p.Label == at.Label })
	for _, s := range all {
		if !stands(s.Cell, t, at) {
			continue
		}
		m := match{s, true}
		has := func(p reference.Published) bool {
			_, _, ok := m.figure(p.As, kindNamed(t.Metric))
			return ok
		}
		measured, far := len(record.Those(column, has)), distance(s.Cell, t, at)
		if !best.found || measured > most || measured == most && far < least {
			best, most, least = m, measured, far
		}
	}
	return best
}

// stands reports whether a scenario can stand for a place: the same traffic between
// the same numbers of everything. An instance must be that instance; any other name
// of where hosts were is a label, which an underlay without one can stand for, if it is like the
// place's where the source says what that is like.
func stands(c record.Cell, t reference.Table, at reference.Place) bool {
	if c.Workload != t.Workload || c.Hosts != at.Hosts || c.Family != at.Family ||
		c.Servers != at.Servers || c.Clients != at.Clients || max(c.Processes, 1) != max(at.Processes, 1) || c.Options.Reverse || c.Options.Bandwidth > 0 {
		return false
	}
	name := shapeOf(c.Underlay).Instance
	if name == at.Underlay || at.Underlay == "" {
		return true
	}
	_, isInstance := reference.Instance(at.Underlay)
	return !isInstance && name == "" && (at.Like == "" || c.Underlay == at.Like)
}

// distance returns how much a scenario differs from the published one.
// The weights order the differences by importance; they have no unit.
func distance(c record.Cell, t reference.Table, at reference.Place) int {
	d := 0
	add := func(weight int, when bool) {
		if when {
			d += weight
		}
	}
	o := c.Options
	o.Streams = 0
	add(16, slices.ContainsFunc(record.Dimensions(record.Condition), func(d record.Dimension) bool { return d.IsSet(c) }))
	add(8, c.Underlay != "" && at.Underlay == "")
	elsewhere := at.Underlay != "" && shapeOf(c.Underlay).Instance != at.Underlay
	add(8, elsewhere)
	add(8, elsewhere && c.Underlay != at.Like)
	add(4, max(c.Options.Streams, 1) != t.Streams)
	add(2, c.Tool != t.Tool)
	add(1, c.Tool != t.Tool && c.Tool != referenceTool)
	add(1, o != record.Options{})
	return d
}

// alternatives lists the counterparts of a published network, the best first: "a|b" means b if a was not measured.
func alternatives(as string) []string {
	return strings.FieldsFunc(as, func(r rune) bool { return r == '|' })
}

// figure finds the row of a network and its figure of a metric, from the first of its alternatives
// that has one. If none has, the row is that of the first alternative that was planned.
func (m match) figure(as string, k record.Kind) (row Row, f Figure, ok bool) {
	for _, network := range alternatives(as) {
		r, f, ok := m.figureOf(network, k)
		if ok {
			return r, f, true
		}
		if row.Cell.Network == "" {
			row = r
		}
	}
	return row, Figure{}, false
}

// figureOf finds the row of a network and its figure of a metric. A network of another platform stands in if the
// lab's was not planned. A throughput per client that was not recorded is the total over the number of clients; a
// mean latency that was not recorded is the median; the CPU time of an end is that of its host if that is known.
func (m match) figureOf(network string, k record.Kind) (row Row, f Figure, ok bool) {
	named := func(same func(string) bool) int {
		return slices.IndexFunc(m.scenario.Rows, func(r Row) bool { return r.Cell.Twin == 0 && same(r.Cell.Network) })
	}
	i := named(func(name string) bool { return name == network })
	if i < 0 {
		i = named(func(name string) bool { return strings.HasSuffix(name, ":"+network) })
	}
	if i < 0 && reference.Real(network) != "" {
		i = named(func(name string) bool { return strings.HasSuffix(name, ":"+reference.Real(network)) })
	}
	if i < 0 {
		return Row{}, Figure{}, false
	}
	row = m.scenario.Rows[i]
	if f, ok = row.Figure(k.Name); ok {
		return row, f, true
	}
	host := map[string]string{reference.CPUClient: CPUClientHost, reference.CPUServer: CPUServerHost}[k.Name]
	for _, name := range []string{host, k.Name} {
		if f, ok = row.Load(name); ok {
			return row, f, true
		}
	}
	switch k.Name {
	case record.ThroughputPerClient:
		if f, ok = row.Figure(record.Throughput); ok {
			return row, f.perClient(k, row.Cell.Pairs()), true
		}
	case record.LatencyMean:
		if f, ok = row.Figure(record.LatencyP50); ok {
			return row, f, true
		}
	}
	return row, Figure{}, false
}

// perClient divides a total by the number of clients.
func (f Figure) perClient(k record.Kind, clients int) Figure {
	n := float64(max(1, clients))
	out := Figure{Kind: k, Ratio: f.Ratio, cell: f.cell}
	out.Summary, _ = f.Summary.over(n)
	share := func(p Point) Point { return Point{p.Round, p.Value / n} }
	out.Points, out.base, out.whole = record.Each(f.Points, share), record.Each(f.base, share), record.Each(f.whole, share)
	return out
}

// notes lists how a measured cell differs from the published one.
func (m match) notes(row Row, f Figure, k record.Kind, p reference.Published, t reference.Table) []string {
	var out []string
	note := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	c := row.Cell
	note(c.Tool != t.Tool, "measured by %s, the source by %s", c.Tool, t.Tool)
	all := alternatives(p.As)
	standsIn := slices.Index(all, c.Network) > 0
	note(standsIn && all[0] == p.Network, "measured over %s, which stands in for %s", c.Network, p.Network)
	note(standsIn && all[0] != p.Network, "measured over %s, which stands in for %s and is not %s", c.Network, all[0], p.Network)
	note(!standsIn && c.Network != all[0], "measured over %s", c.Network)
	note(max(c.Options.Streams, 1) != t.Streams, "streams of each client: %d, in the source %d", max(c.Options.Streams, 1), t.Streams)
	note(p.Underlay != "" && shapeOf(c.Underlay).Instance != p.Underlay, "underlay: %s, in the source %s", cmp.Or(c.Underlay, "unshaped"), p.Underlay)
	note(p.Underlay == "" && c.Underlay != "", "measured over the underlay %s", c.Underlay)
	switch {
	case k.Unit != "cpu-s/s":
		note(f.Kind.Name != k.Name, "%s stands for %s", f.Kind.Title, k.Title)
	case row.Apart && f.Kind.Name != k.Name:
		note(true, "CPU use of the whole machine at that end, less what it uses when idle")
	case f.Kind.Name != k.Name:
		note(true, "CPU use of the processes and daemons on that host, in the source of the whole machine: what the kernel does on behalf of no process is not included")
	default:
		note(true, "CPU use of the processes, in the source of the whole machine at that end")
	}
	for _, d := range record.Dimensions(record.Option, record.Condition) {
		note(d.IsSet(c) && d.Name != "streams", "%s", d.Phrase(c))
	}
	return out
}
