package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nettoll/record"
	"nettoll/reference"
)

// Codes of reasons for which tools differ.
const (
	ReasonPlacement  = "tool-placement"  // processes ran on other CPUs
	ReasonCongestion = "tool-congestion" // another congestion control
	ReasonMSS        = "tool-mss"        // other segments
	ReasonSetup      = "tool-setup"      // endpoints were set up differently
	ReasonWarned     = "tool-warning"    // what trials of either tool warn of
	ReasonMessage    = "tool-message"    // writes of another size
	ReasonRetransmit = "tool-retransmit" // one retransmits more than the other
	ReasonDefaults   = "tool-defaults"   // an option was left to each tool, and nobody says what they took
	ReasonFlows      = "tool-flows"      // another number of connections
	ReasonWindow     = "tool-window"     // another length of the measured window
	ReasonCPU        = "tool-cpu"        // one needs more CPU time than the other
	ReasonUnknown    = "tool-unknown"    // the record shows nothing that would explain it
)

// Differences below these explain nothing.
const (
	windowShare = 0.1 // of the length of the window
	cpuShare    = 0.2 // of the CPU time of a role
)

// reasons lists what the record shows that can explain why the figures of two tools
// on one cell differ. None of it is proved.
func reasons(c record.Cell, base, row Row, j judging) []Warning {
	a, b := base.Cell.Tool, row.Cell.Tool
	var out []Warning
	add := func(code, advice, format string, args ...any) {
		out = append(out, Warning{code, fmt.Sprintf(format, args...), advice})
	}
	const pin = "pin both to the same CPUs"
	if !slices.Equal(base.ClientCPUs, row.ClientCPUs) {
		add(ReasonPlacement, pin, "clients of %s ran on %s, of %s on %s", b, cpuList(row.ClientCPUs), a, cpuList(base.ClientCPUs))
	}
	if !slices.Equal(base.ServerCPUs, row.ServerCPUs) {
		add(ReasonPlacement, pin, "servers of %s ran on %s, of %s on %s", b, cpuList(row.ServerCPUs), a, cpuList(base.ServerCPUs))
	}
	for _, d := range setupsDiffer(row.Endpoints, row.Flows, base.Endpoints, base.Flows) {
		code, advice := ReasonSetup, "set both up alike"
		switch {
		case strings.Contains(d, "congestion control"):
			code, advice = ReasonCongestion, "name the congestion control (--congestion)"
		case strings.Contains(d, "message size"):
			code, advice = ReasonMessage, "give the message size (--message-size)"
		case strings.Contains(d, "MSS"):
			code, advice = ReasonMSS, "see what either tool sets with TCP_MAXSEG, and the MTU of the path"
		}
		add(code, advice, "%s, %s against %s", d, b, a)
	}
	if v, w, differ := retransmits(base, row, j); differ {
		add(ReasonRetransmit, "look for losses on the path, and at the socket buffers and pacing of both",
			"%s retransmits %.3g segments in a trial, %s %.3g", b, v, a, w)
	}
	out = append(out, warned(base, row)...)
	out = append(out, warned(row, base)...)
	if option := leftOpen(c); option != "" && !(option == "message size" && sizesKnown(base, row)) {
		add(ReasonDefaults, "give --"+strings.ReplaceAll(option, " ", "-"), "the %s is what each tool takes when nobody says", option)
	}
	if n, m := len(row.Flows), len(base.Flows); n != m && n > 0 && m > 0 {
		add(ReasonFlows, "give the number of streams (--streams)", "%s had %d connections, %s had %d", b, n, a, m)
	}
	if v, w := row.Window, base.Window; v > 0 && w > 0 && math.Abs(v-w) > windowShare*min(v, w) {
		add(ReasonWindow, "measure longer, so that what a tool adds at the edges matters less", "the window of %s is %.3g s, that of %s %.3g s", b, v, a, w)
	}
	for _, role := range [][2]string{{reference.CPUClient, "clients"}, {reference.CPUServer, "servers"}} {
		name, who := role[0], role[1]
		v, has := row.Load(name)
		w, too := base.Load(name)
		if has && too && math.Abs(v.Summary.Estimate-w.Summary.Estimate) > cpuShare*min(v.Summary.Estimate, w.Summary.Estimate) {
			add(ReasonCPU, "see whether the slower one has a CPU fully busy: then it measures itself",
				"%s of %s used %.2g CPUs, of %s %.2g", who, b, v.Summary.Estimate, a, w.Summary.Estimate)
		}
	}
	if len(out) == 0 {
		add(ReasonUnknown, "look at the trials of both; make a capture of each", "nothing in the record explains it")
	}
	return out
}

// retransmits are the segments that either sends again in a trial, where the two differ by their own
// interval.
func retransmits(base, row Row, j judging) (of, against float64, differ bool) {
	f, has := row.Figure(record.Retransmits)
	g, too := base.Figure(record.Retransmits)
	if !has || !too {
		return 0, 0, false
	}
	d := subtract(pairUp(f.Points, g.Points), record.LowerIsBetter, j)
	return f.Summary.Estimate, g.Summary.Estimate, d != nil && d.Outcome == Different
}

// sizesKnown reports whether the record tells how large the writes of both tools were.
func sizesKnown(base, row Row) bool {
	told := func(r Row) bool {
		return slices.ContainsFunc(r.Flows, func(f record.Flow) bool { return f.Message > 0 })
	}
	return told(base) && told(row)
}

// warned are the warnings of trials that only the first row has.
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

// ownCodes are of warnings about what repeats of one cell say together, and so
// explain nothing between two tools.
var ownCodes = []string{
	WarnTooFewRounds, WarnNotPrecise, WarnNoNative, WarnUnpaired, WarnNotMeasured, WarnDrift, WarnNoisy, WarnOutliers,
	WarnDiffers, WarnFailed, WarnInvalid, WarnSkipped, WarnHistogram, WarnUnknownMetric, WarnAlike,
}

// leftOpen names an option that decides the figure and that the cell leaves to
// the tool.
func leftOpen(c record.Cell) string {
	o := c.Options
	switch c.Workload {
	case record.TCPStream, record.TCPBidir, record.UDPStream:
		if o.MessageSize == 0 {
			return "message size"
		}
	case record.TCPRR, record.TCPCRR, record.UDPRR, record.PacedRR:
		if o.RequestSize == 0 {
			return "request size"
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
