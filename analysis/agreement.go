package analysis

import (
	"slices"

	"nettoll/record"
)

// Concord says whether two tools give the same figure.
type Concord int

const (
	ConcordUnknown Concord = iota // too few common rounds to tell
	Agree                         // the interval of their ratio contains 1, or is within AgreeMargin of it
	Differ                        // it does neither
)

func (c Concord) String() string {
	switch c {
	case Agree:
		return "agree"
	case Differ:
		return "differ"
	}
	return "cannot be told"
}

// AgreeMargin is the difference of two tools that nobody needs explained,
// however surely it was measured.
const AgreeMargin = 0.02

// referenceTool is the tool that others are compared with where it was measured.
const referenceTool = "engine"

// Agreement compares two tools on cells that are equal but for the tool.
type Agreement struct {
	Cell            record.Cell // without its tool
	Kind            record.Kind // the metric that both have
	Reference, Tool string      // Reference is the engine where it was measured
	Expected, Found Figure      // of Reference and of Tool
	Ratio           *Comparison // Tool ÷ Reference, paired by round; nil where they share no round or a value is 0. Its verdict takes more for better
	Concord         Concord
	Reasons         []Warning // where they differ: what the record shows that can explain it, likeliest first
}

// compared are the metrics that tools are expected to agree on.
var compared = [...]string{record.Throughput, record.PacketRate, record.TransactionRate, record.LatencyMean, record.LatencyP50}

// Agreements compares the tools of a run with each other: of every cell that two
// tools or more measured, and of every metric that both have among throughput,
// packet rate, transaction rate, mean latency and p50. The order is that of the
// plan.
func Agreements(res Result) []Agreement {
	var order []record.Cell
	byCell := map[record.Cell][]Row{}
	for _, s := range res.Scenarios {
		for _, r := range s.Rows {
			if len(r.Figures) == 0 {
				continue
			}
			c := r.Cell
			c.Tool = ""
			if len(byCell[c]) == 0 {
				order = append(order, c)
			}
			if !slices.ContainsFunc(byCell[c], func(o Row) bool { return o.Cell.Tool == r.Cell.Tool }) {
				byCell[c] = append(byCell[c], r)
			}
		}
	}
	var out []Agreement
	for _, c := range order {
		rows := byCell[c]
		base := max(0, slices.IndexFunc(rows, func(r Row) bool { return r.Cell.Tool == referenceTool }))
		for i, r := range rows {
			if i != base {
				out = append(out, agree(c, rows[base], r, level(res.Run.Settings))...)
			}
		}
	}
	return out
}

// agree compares two tools in every metric that they share.
func agree(c record.Cell, base, row Row, conf float64) []Agreement {
	var out []Agreement
	for _, name := range compared {
		expected, has := base.Figure(name)
		found, too := row.Figure(name)
		if !has || !too {
			continue
		}
		a := Agreement{
			Cell: c, Kind: expected.Kind, Reference: base.Cell.Tool, Tool: row.Cell.Tool, Expected: expected, Found: found,
			Ratio: compare(pairUp(found.Points, expected.Points), record.HigherIsBetter, conf),
		}
		switch r := a.Ratio; {
		case r == nil || r.Level == 0:
		case r.Verdict == Indistinguishable, r.Low > 1-AgreeMargin && r.High < 1+AgreeMargin:
			a.Concord = Agree
		default:
			a.Concord = Differ
			a.Reasons = reasons(c, base, row)
		}
		out = append(out, a)
	}
	return out
}
