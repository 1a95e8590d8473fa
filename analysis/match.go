package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nettoll/record"
	"nettoll/reference"
)

// match is the scenario of a run that stands for a column of a published table.
type match struct {
	scenario Scenario
	found    bool
}

// findScenario finds the scenario in which most of a column's networks were
// measured; of several, the one that is most like the published one: by the same
// tool, with as many streams, without conditions that the source does not have.
func findScenario(all []Scenario, t reference.Table, at reference.Place) match {
	var best match
	var most, least int
	for _, s := range all {
		if !stands(s.Cell, t, at) {
			continue
		}
		m := match{s, true}
		measured, far := 0, distance(s.Cell, t, at)
		for _, p := range t.Cells {
			if p.Label != at.Label || p.As == "" {
				continue
			}
			if _, _, ok := m.figure(p.As, kindNamed(t.Metric)); ok {
				measured++
			}
		}
		if !best.found || measured > most || measured == most && far < least {
			best, most, least = m, measured, far
		}
	}
	return best
}

// stands reports whether a scenario can stand for a place: the same traffic
// between as many of everything. An instance must be that instance; any other
// name of where hosts were is a label, which an underlay without one can stand for.
func stands(c record.Cell, t reference.Table, at reference.Place) bool {
	if c.Workload != t.Workload || c.Hosts != at.Hosts || c.Family != at.Family ||
		c.Servers != at.Servers || c.Clients != at.Clients || max(c.Processes, 1) != max(at.Processes, 1) || c.Options.Reverse {
		return false
	}
	name := instanceOf(c.Underlay)
	if name == at.Underlay || at.Underlay == "" {
		return true
	}
	_, isInstance := reference.Instance(at.Underlay)
	return !isInstance && name == ""
}

// distance says how much a scenario differs from the published one. The weights
// order the differences by importance; they have no unit.
func distance(c record.Cell, t reference.Table, at reference.Place) int {
	d := 0
	add := func(weight int, when bool) {
		if when {
			d += weight
		}
	}
	o := c.Options
	o.Streams = 0
	add(16, slices.ContainsFunc(record.Dimensions(record.Condition), func(d record.Dimension) bool {
		return d.Name != "underlay" && d.IsSet(c)
	}))
	add(8, c.Underlay != "" && at.Underlay == "")
	add(8, at.Underlay != "" && instanceOf(c.Underlay) != at.Underlay)
	add(8, at.Underlay != "" && instanceOf(c.Underlay) != at.Underlay && c.Underlay != at.Like)
	add(4, max(c.Options.Streams, 1) != t.Streams)
	add(2, c.Tool != t.Tool)
	add(1, c.Tool != t.Tool && c.Tool != referenceTool)
	add(1, o != record.Options{})
	return d
}

// alternatives are the networks that a network is taken for, the best first: "a|b" is
// b where a was not measured.
func alternatives(as string) []string {
	if as == "" {
		return nil
	}
	return strings.Split(as, "|")
}

// figure finds the row of a network and its figure of a metric: of the first of its
// alternatives that has one. Without any the row is that of the first that was planned.
func (m match) figure(as string, k record.Kind) (row Row, f Figure, ok bool) {
	for _, network := range alternatives(as) {
		r, f, ok := m.figureOf(network, k)
		if ok && r.Status == record.OK {
			return r, f, true
		}
		if row.Cell.Network == "" {
			row = r
		}
	}
	return row, Figure{}, false
}

// figureOf finds the row of a network and its figure of a metric. A network of
// another platform stands in where the lab's was not planned. A throughput per
// client that was not recorded is the total over the clients, and a mean latency
// that was not recorded the median; the CPU time of an end is that of its host where that
// can be told.
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
	if host := map[string]string{reference.CPUClient: CPUClientHost, reference.CPUServer: CPUServerHost}[k.Name]; host != "" {
		if f, ok = row.Load(host); ok {
			return row, f, true
		}
	}
	if f, ok = row.Load(k.Name); ok {
		return row, f, true
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

// perClient shares a total among so many clients.
func (f Figure) perClient(k record.Kind, clients int) Figure {
	n := float64(max(1, clients))
	out := Figure{Kind: k, Ratio: f.Ratio}
	out.Summary, _ = f.Summary.over(n)
	for _, p := range f.Points {
		out.Points = append(out.Points, Point{p.Round, p.Value / n})
	}
	return out
}

// notes say how a measured cell differs from the published one.
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
	note(p.Underlay != "" && instanceOf(c.Underlay) != p.Underlay, "measured over an underlay that is %s, not named %s", cmp.Or(c.Underlay, "unshaped"), p.Underlay)
	note(p.Underlay == "" && c.Underlay != "", "measured over the underlay %s", c.Underlay)
	switch {
	case !strings.HasPrefix(k.Name, "cpu_"):
		note(f.Kind.Name != k.Name, "%s stands for %s", f.Kind.Title, k.Title)
	case row.Apart && f.Kind.Name != k.Name:
		note(true, "of the whole machine at that end, less what it uses when idle")
	case f.Kind.Name != k.Name:
		note(true, "of the processes and daemons on that host, in the source of the whole machine: what the kernel does on behalf of nobody is not in it")
	default:
		note(true, "of the processes, in the source of the whole machine at that end")
	}
	note(c.MTU != 0, "MTU %d", c.MTU)
	note(c.Rules != 0, "%d further firewall rules", c.Rules)
	note(c.Neighbours != 0, "%d idle neighbours", c.Neighbours)
	note(c.Offload != "", "offloads %s", c.Offload)
	return out
}
