package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nettoll/internal/oneline"
	"nettoll/record"
	"nettoll/reference"
)

// referenceTool is the tool that others are compared with wherever it was measured.
const referenceTool = "engine"

// Agreement compares two tools on cells that differ only in the tool.
type Agreement struct {
	Cell      record.Cell `json:"cell"`      // with Tool empty
	Kind      record.Kind `json:"-"`         // the metric that both measured
	Reference string      `json:"reference"` // the tool compared with: the engine where it was measured
	Tool      string      `json:"tool"`
	Expected  Figure      `json:"expected"`        // of Reference
	Found     Figure      `json:"found"`           // of Tool
	Ratio     *Comparison `json:"ratio,omitempty"` // Tool ÷ Reference, paired by round; nil if they share no round or a value is 0. Its Effect is Better if Tool has the greater figure, in every metric
	// Difference is Tool − Reference, likewise, where there is no ratio but common rounds.
	Difference *Comparison `json:"difference,omitempty"`
	// Outcome reports whether the tools agree: Same means that their figures are within the margin. NotKnown
	// does not mean agreement.
	Outcome    Outcome    `json:"outcome"`
	Reasons    []Warning  `json:"reasons"`             // where they differ: what in the record can explain it, likeliest first
	Namespaces Namespaces `json:"hosts_are,omitempty"` // of the scenario
}

// compared lists the metrics on which tools are expected to agree.
var compared = [...]string{record.Throughput, record.PacketRate, record.TransactionRate, record.LatencyMean, record.LatencyP50}

// agreements compares the tools of a run in every cell that two or more tools measured, and in every metric that both
// have among throughput, packet rate, transaction rate, mean latency and p50. The result is in the order of the plan.
func agreements(res Result) []Agreement {
	type measured struct {
		Row
		Namespaces
	}
	var all []measured
	for s, r := range res.Rows() {
		if len(r.Figures) > 0 {
			all = append(all, measured{r, s.Namespaces})
		}
	}
	withoutTool := func(m measured) record.Cell {
		m.Cell.Tool = ""
		return m.Cell
	}
	var out []Agreement
	for _, rows := range record.Gather(all, withoutTool) {
		namespaces := Namespaces(slices.ContainsFunc(rows, func(m measured) bool { return bool(m.Namespaces) }))
		base := max(0, slices.IndexFunc(rows, func(m measured) bool { return m.Cell.Tool == referenceTool }))
		for i, m := range rows {
			if i != base {
				for _, a := range agree(withoutTool(m), rows[base].Row, m.Row, judgingOf(res.Limits)) {
					a.Namespaces = namespaces
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// agree compares two tools in every metric that both measured.
func agree(c record.Cell, base, row Row, j judging) []Agreement {
	var out []Agreement
	for _, name := range compared {
		expected, has := base.Figure(name)
		found, too := row.Figure(name)
		if !has || !too {
			continue
		}
		pairs := pairUp(found.Points, expected.Points)
		a := Agreement{
			Cell: c, Kind: expected.Kind, Reference: base.Cell.Tool, Tool: row.Cell.Tool, Expected: expected, Found: found,
			Ratio: compare(pairs, record.HigherIsBetter, j), Reasons: []Warning{},
		}
		if a.Ratio == nil {
			a.Difference = subtract(pairs, record.HigherIsBetter, j)
		}
		if told := cmp.Or(a.Ratio, a.Difference); told != nil {
			a.Outcome = told.Outcome
		}
		if a.Outcome == Different {
			a.Reasons = reasons(c, base, row, j)
		}
		out = append(out, a)
	}
	return out
}

// Codes of the reasons why tools differ.
const (
	ReasonPlacement  = "tool-placement"  // processes ran on other CPUs
	ReasonCongestion = "tool-congestion" // another congestion control
	ReasonMSS        = "tool-mss"        // segments of another size
	ReasonSetup      = "tool-setup"      // endpoints were set up differently
	ReasonWarned     = "tool-warning"    // warnings in the trials of one tool
	ReasonMessage    = "tool-message"    // writes of another size
	ReasonRetransmit = "tool-retransmit" // one retransmits more than the other
	ReasonDefaults   = "tool-defaults"   // an option was left to each tool, and the record does not show what they chose
	ReasonFlows      = "tool-flows"      // another number of connections
	ReasonWindow     = "tool-window"     // another length of the measured window
	ReasonCPU        = "tool-cpu"        // one needs more CPU time than the other
	ReasonUnknown    = "tool-unknown"    // the record shows nothing that would explain it
)

// Differences below these limits explain nothing.
const (
	windowShare = 0.1 // of the length of the window
	cpuShare    = 0.2 // of the CPU time of a role
)

// reasons lists what in the record can explain why the figures of two tools differ on one cell. None of it is proved.
func reasons(c record.Cell, base, row Row, j judging) (out warnings) {
	a, b := base.Cell.Tool, row.Cell.Tool
	const pin = "pin both to the same CPUs"
	if !slices.Equal(base.ClientCPUs, row.ClientCPUs) {
		out.add(ReasonPlacement, pin, "clients of %s ran on %s, those of %s on %s", b, cpuList(row.ClientCPUs), a, cpuList(base.ClientCPUs))
	}
	if !slices.Equal(base.ServerCPUs, row.ServerCPUs) {
		out.add(ReasonPlacement, pin, "servers of %s ran on %s, those of %s on %s", b, cpuList(row.ServerCPUs), a, cpuList(base.ServerCPUs))
	}
	for _, d := range differences(row.Endpoints, row.Flows, base.Endpoints, base.Flows) {
		code, advice := ReasonSetup, "set both up alike"
		switch d.attribute {
		case "congestion control":
			code, advice = ReasonCongestion, "set the congestion control (--congestion)"
		case "message size":
			code, advice = ReasonMessage, "set the message size (--message-size)"
		case "MSS":
			code, advice = ReasonMSS, "check what each tool sets with TCP_MAXSEG, and the MTU of the path"
		}
		out.add(code, advice, "%s, %s against %s", d.text, b, a)
	}
	if v, w, differ := retransmits(base, row, j); differ {
		out.add(ReasonRetransmit, "look for losses on the path, and at the socket buffers and pacing of both",
			"%s retransmits %.1f segments per trial, %s %.1f segments per trial", b, v, a, w)
	}
	out = append(out, warned(base, row)...)
	out = append(out, warned(row, base)...)
	if option := leftOpen(c); option != "" && !(option == "message size" && sizesKnown(base, row)) {
		out.add(ReasonDefaults, "set --"+strings.ReplaceAll(option, " ", "-"), "each tool uses its own default %s", option)
	}
	// A tool that cannot tell the connections of a client apart records one flow for each client.
	if n, m := len(row.Flows), len(base.Flows); n != m && min(n, m) >= max(1, c.Pairs()*max(1, c.Options.Streams)) {
		out.add(ReasonFlows, "set the number of streams (--streams)", "%s had %d connections, %s had %d", b, n, a, m)
	}
	if v, w := row.Window, base.Window; unlikeWindows(v, w) {
		out.add(ReasonWindow, "measure longer windows (-t), so that what a tool adds at their edges matters less", "the window of %s is %s s, that of %s %s s", b, oneline.Number(v, 3), a, oneline.Number(w, 3))
	}
	for _, role := range [][2]string{{reference.CPUClient, "clients"}, {reference.CPUServer, "servers"}} {
		name, who := role[0], role[1]
		v, has := row.Load(name)
		w, too := base.Load(name)
		if has && too && math.Abs(v.Summary.Estimate-w.Summary.Estimate) > cpuShare*min(v.Summary.Estimate, w.Summary.Estimate) {
			out.add(ReasonCPU, "check whether the slower tool keeps a CPU fully busy: then it measures itself",
				"%s of %s used %.2f CPUs, those of %s %.2f CPUs", who, b, v.Summary.Estimate, a, w.Summary.Estimate)
		}
	}
	if len(out) == 0 {
		out.add(ReasonUnknown, "compare the trials of both tools, and packet captures of each", "nothing in the record explains it")
	}
	return out
}

// countInWindow are the tools whose retransmits are those in the window. Others count from when connections are made.
var countInWindow = []string{"iperf", "iperf3"}

// retransmits returns the segments that each tool retransmits per trial, and whether the interval of their
// difference shows that they differ, other than because one counts for longer. With windows of unlike lengths that is not known.
func retransmits(base, row Row, j judging) (of, against float64, differ bool) {
	f, has := row.Figure(record.Retransmits)
	g, too := base.Figure(record.Retransmits)
	if !has || !too || unlikeWindows(row.Window, base.Window) {
		return 0, 0, false
	}
	d := subtract(pairUp(f.Points, g.Points), record.LowerIsBetter, j)
	of, against = f.Summary.Estimate, g.Summary.Estimate
	more, less := row.Cell.Tool, base.Cell.Tool
	if of < against {
		more, less = less, more
	}
	longer := slices.Contains(countInWindow, less) && !slices.Contains(countInWindow, more)
	return of, against, d != nil && d.Outcome == Different && !longer
}

// sizesKnown reports whether the record has the message sizes of both tools.
func sizesKnown(base, row Row) bool {
	told := func(r Row) bool {
		return slices.ContainsFunc(r.Flows, func(f record.Flow) bool { return f.Message > 0 })
	}
	return told(base) && told(row)
}

// warned returns the warnings of trials that only the first row has.
func warned(row, other Row) []Warning {
	var out []Warning
	for _, w := range row.Warnings {
		same := func(o Warning) bool { return o.Code == w.Code }
		if !slices.Contains(ownCodes, w.Code) && !slices.ContainsFunc(other.Warnings, same) {
			out = append(out, Warning{ReasonWarned, fmt.Sprintf("%s: %s", row.Cell.Tool, w.Text), w.Advice})
		}
	}
	return out
}

// ownCodes are the codes of warnings about the repeats of one cell taken together,
// which explain nothing between two tools.
var ownCodes = []string{
	WarnTooFewRounds, WarnNotPrecise, WarnNoNative, WarnUnpaired, WarnNotMeasured, WarnDrift, WarnNoisy, WarnOutliers,
	WarnDiffers, WarnFailed, WarnInvalid, WarnSkipped, WarnHistogram, WarnUnknownMetric, WarnAlike,
}

// leftOpen returns the title of an option that decides the figure and that the cell leaves to the tool, or "".
func leftOpen(c record.Cell) string {
	for _, name := range []string{"message-size", "request-size"} {
		if d, _ := record.DimensionOf(name); d.Takes(c.Workload) && !d.IsSet(c) && !record.Mixed(c.Workload) {
			return d.Title
		}
	}
	return ""
}

func cpuList(cpus []int) string {
	if len(cpus) == 0 {
		return "any CPU"
	}
	return "CPU " + strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ", "), "[]")
}
