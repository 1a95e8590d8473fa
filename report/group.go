package report

import (
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// group joins the scenarios that differ only in their workload, so that one line has everything about a network.
type group struct {
	name      string // unique among the groups; see titled
	res       *analysis.Result
	scenarios []analysis.Scenario // no two with the same workload
	lines     []line
	columns   []column
}

// mostColumns is the largest number of metrics in one table.
const mostColumns = 7

// line is one network of a group.
type line struct {
	name    string
	network string // the name without the number of a twin
	native  bool
	rows    []*analysis.Row // one per scenario, nil if it was not planned
}

// planned returns the rows of a line, without those that were not planned.
func (l line) planned() []*analysis.Row {
	return record.Those(l.rows, func(r *analysis.Row) bool { return r != nil })
}

// column is one metric of one scenario.
type column struct {
	scenario int
	kind     record.Kind
	scale    scale
}

// groups joins scenarios in their order. Two with the same workload, for example with 1 and
// with 8 streams, go into different groups.
func groups(res analysis.Result) []group {
	var all []group
	for _, s := range res.Scenarios {
		i := slices.IndexFunc(all, func(g group) bool { return g.takes(s.Cell) })
		if i < 0 {
			i, all = len(all), append(all, group{res: &res})
		}
		all[i].scenarios = append(all[i].scenarios, s)
	}
	for i := range all {
		all[i].fill()
	}
	return all
}

func (g group) takes(c record.Cell) bool {
	for _, s := range g.scenarios {
		a, b := s.Cell, c
		if a.Tool != b.Tool || !sameLine(a.Workload, b.Workload) {
			return false
		}
		a.Workload, a.Tool, a.Options = "", "", record.Options{}
		b.Workload, b.Tool, b.Options = "", "", record.Options{}
		if a != b {
			return false
		}
	}
	return true
}

// sameLine reports whether two workloads belong on one line: throughput and latency of
// one protocol, without a metric in common, and few enough metrics for a terminal.
func sameLine(a, b string) bool {
	protocol := func(workload string) string { p, _, _ := strings.Cut(workload, "_"); return p }
	one, other := record.Primary(a), record.Primary(b)
	if other[0] == record.Throughput {
		one, other = other, one
	}
	return protocol(a) == protocol(b) && len(one)+len(other) <= mostColumns &&
		one[0] == record.Throughput && other[0] == record.LatencyP50 &&
		!slices.ContainsFunc(one, func(m string) bool { return slices.Contains(other, m) })
}

func (g *group) fill() {
	for i, s := range g.scenarios {
		for j := range s.Rows {
			row := &s.Rows[j]
			name := networkName(row.Cell)
			at := slices.IndexFunc(g.lines, func(l line) bool { return l.name == name })
			if at < 0 {
				at = len(g.lines)
				g.lines = append(g.lines, line{name: name, network: row.Cell.Network, rows: make([]*analysis.Row, len(g.scenarios))})
			}
			g.lines[at].rows[i] = row
			g.lines[at].native = g.lines[at].native || row.Native
		}
	}
	for _, kind := range g.kinds() {
		for i := range g.scenarios {
			if g.shows(i, kind.Name) {
				c := column{scenario: i, kind: kind}
				c.scale = scaleFor(kind, g.reference(c))
				g.columns = append(g.columns, c)
			}
		}
	}
}

// kinds returns all metrics; for a single workload its primary ones come first.
func (g group) kinds() []record.Kind {
	all := record.Kinds()
	if len(g.scenarios) > 1 {
		return all
	}
	primary := record.Primary(g.scenarios[0].Cell.Workload)
	slices.SortStableFunc(all, func(a, b record.Kind) int {
		x, y := slices.Index(primary, a.Name), slices.Index(primary, b.Name)
		if x < 0 || y < 0 {
			return y - x
		}
		return x - y
	})
	return all
}

// shows reports whether the table has a column for a metric of a scenario. A scenario
// without any figure gets the column of its first metric, which then shows the reason.
func (g group) shows(scenario int, metric string) bool {
	s := g.scenarios[scenario]
	answers := s.Answers()
	if len(answers) == 0 {
		return metric == record.Primary(s.Cell.Workload)[0]
	}
	return slices.ContainsFunc(answers, func(k record.Kind) bool { return k.Name == metric })
}

// reference is the value that determines the unit of a column.
func (g group) reference(c column) float64 {
	for _, l := range g.lines {
		if f, ok := l.figure(c); ok && f.Summary.Estimate != 0 {
			return f.Summary.Estimate
		}
	}
	return 0
}

func (l line) figure(c column) (analysis.Figure, bool) {
	if row := l.rows[c.scenario]; row != nil {
		return row.Figure(c.kind.Name)
	}
	return analysis.Figure{}, false
}

// find returns the figure of a metric, in whichever scenario of the group it is primary.
func (g group) find(l line, metric string) (analysis.Figure, bool) {
	return g.rowOf(l, metric).Figure(metric)
}

// rowOf returns the row of a line in the scenario in which a metric is primary.
func (g group) rowOf(l line, metric string) analysis.Row {
	for i, s := range g.scenarios {
		if l.rows[i] != nil && slices.Contains(record.Primary(s.Cell.Workload), metric) {
			if _, ok := l.rows[i].Figure(metric); ok {
				return *l.rows[i]
			}
		}
	}
	return analysis.Row{}
}

// native returns the line that all others are compared with. In a self-check every network
// has its own, and there is no such line.
func (g group) native() (line, bool) {
	all := g.natives()
	if len(all) != 1 {
		return line{}, false
	}
	return all[0], true
}

func (g group) natives() []line {
	return record.Those(g.lines, func(l line) bool { return l.native })
}

// nativeOf returns the line that l is compared with.
func (g group) nativeOf(l line) (line, bool) {
	if n, ok := record.First(g.natives(), func(n line) bool { return n.network == l.network }); ok {
		return n, true
	}
	return g.native()
}

// word returns the name in sentences of the network that the others are compared with.
func (g group) word() string { return analysis.BaselineName(g.scenarios[0].Cell) }

// wordFor returns the name of what one line is compared with: in a self-check its twin.
func (g group) wordFor(l line) string {
	if n, ok := g.nativeOf(l); ok && len(l.rows) > 0 && l.rows[0] != nil && l.rows[0].Cell.Twin != 0 {
		return n.name
	}
	return g.word()
}

// shortBaseline returns the name of the baseline in a heading. A chosen baseline with a long
// name is shown as "baseline": the title and the first sentence name it.
func (g group) shortBaseline() string {
	const longest = 10 // columns
	name := Printable(g.baseline())
	if g.scenarios[0].Cell.Baseline != "" && displayWidth(name) > longest {
		return "baseline"
	}
	return cut(name, longest)
}

// baseline returns the name of what the networks of the group are compared with.
func (g group) baseline() string {
	switch all := g.natives(); len(all) {
	case 0:
		return g.word()
	case 1:
		return all[0].name
	}
	return "#1"
}

// section returns a group of scenarios as a part of a report.
func (g group) section(n *notes, colours colours) *section {
	return &section{
		Title: g.name, Meta: g.measuredWith(), Summary: g.summary(), Tables: []table{g.table(n)}, Missing: g.absences(), Word: g.word(),
		figures: func() []figure { return g.figures(colours) }, group: &g,
	}
}

// shortTitles are the headings for narrow columns; all other metrics have their own title.
var shortTitles = map[string]string{
	record.LatencyP50:        "p50",
	record.LatencyP99:        "p99",
	record.LatencyP99ByTime:  "p99 by time",
	record.LatencyP999:       "p99.9",
	record.LatencyAdded:      "added",
	record.CPUPerTransaction: "CPU/trans.",
	record.CPUPerGB:          "CPU/GB",
}

// table returns a table with a column for each metric of a group.
func (g group) table(n *notes) table {
	t := table{Stub: []string{"network"}, results: true}
	for _, c := range g.columns {
		col := tableColumn{Title: g.heading(c), short: g.shortHeading(c), metric: c.kind.Name, Unit: c.scale.unit, Hint: hint(c.kind)}
		if g.compared(c) {
			col.Baseline, col.shortBase = g.baseline(), g.shortBaseline()
		}
		t.Columns = append(t.Columns, col)
	}
	for _, l := range g.lines {
		out := tableLine{Names: []string{l.name}, Marks: n.marks(l), Native: l.native}
		for _, c := range g.columns {
			shown, f, ok := metricCell(c.scale, l.rows[c.scenario], c.kind.Name)
			if ok {
				shown.Change, shown.Ends, shown.against = compared(c.scale, f)
			}
			out.Cells = append(out.Cells, shown)
		}
		t.Lines = append(t.Lines, out)
	}
	return t
}

// compared reports whether any figure of a column is compared with the baseline.
func (g group) compared(c column) bool {
	return slices.ContainsFunc(g.lines, func(l line) bool {
		f, _ := l.figure(c)
		return f.Comparison() != nil
	})
}

// claimed reports whether a change holds among all primary comparisons.
func claimed(c analysis.Comparison) bool { return c.Primary && c.Verdict == analysis.Different }

// closed reports whether a column is a tail percentile of a closed loop, in which a stall is
// only one of thousands of transactions.
func (g group) closed(c column) bool {
	tail := c.kind.Name == record.LatencyP99 || c.kind.Name == record.LatencyP999
	return tail && g.scenarios[c.scenario].Cell.ClosedLoop()
}

// heading returns the title of a column, marked if it is a tail of a closed loop.
func (g group) heading(c column) string {
	if g.closed(c) {
		return c.kind.Title + ", closed loop"
	}
	return c.kind.Title
}

// shortHeading returns the title of a narrow column.
func (g group) shortHeading(c column) string {
	title, short := shortTitles[c.kind.Name]
	switch {
	case !short:
		return c.kind.Title
	case g.closed(c):
		return "closed " + title
	}
	return title
}

// remarks returns the explanations that the figures of this run need, for text, Markdown and the page.
func remarks(res analysis.Result) []string {
	var all phrases
	all.some(loopRemark(res))
	all.add(anyUnlike(res), windowsRemark)
	return all
}

// loopRemark explains the tails of closed loops, if there are any.
func loopRemark(res analysis.Result) string {
	loops, byTime := false, false
	for s, r := range res.Rows() {
		_, p99 := r.Figure(record.LatencyP99)
		_, weighted := r.Figure(record.LatencyP99ByTime)
		loops, byTime = loops || p99 && s.Cell.ClosedLoop(), byTime || weighted
	}
	if !loops {
		return ""
	}
	text := "Closed loop: a transaction begins when the previous one has ended, so a stall is one of thousands and barely changes the p99 of transactions."
	if byTime {
		text += " p99 by time weights each transaction by its duration: at 99% of all moments, the transaction under way takes no longer than this."
	}
	return text
}

// windowsRemark explains where changes are missing from a table.
const windowsRemark = "A percentile that few transactions decide is not compared in rounds in which the baseline, with more turns, had longer windows: the longer a window, the greater it is."

// anyUnlike reports whether any change lacks rounds since the baseline's windows are longer.
func anyUnlike(res analysis.Result) bool {
	for s, r := range res.Rows() {
		if slices.ContainsFunc(s.Answers(), func(k record.Kind) bool { f, _ := r.Figure(k.Name); return f.Unlike }) {
			return true
		}
	}
	return false
}

// measuredWith describes the traffic of a group, and the congestion control that its streams
// used, which is part of the result even if nobody chose it.
func (g group) measuredWith() string {
	text := g.traffic()
	var rows []*analysis.Row
	for _, s := range g.scenarios {
		for i := range s.Rows {
			rows = append(rows, &s.Rows[i])
		}
	}
	if used := congestions(rows, func(f record.Flow) bool { return f.Bytes > 0 }); len(used) > 0 {
		text += "; congestion control in use: " + strings.Join(used, ", ")
	}
	return text
}

// congestions returns the congestion controls that some flows of rows used.
func congestions(rows []*analysis.Row, some func(record.Flow) bool) (used []string) {
	for _, r := range rows {
		for _, f := range r.Flows {
			if some(f) && f.TCP != nil && f.TCP.Congestion != "" {
				used = record.AddNew(used, f.TCP.Congestion)
			}
		}
	}
	slices.Sort(used)
	return used
}
