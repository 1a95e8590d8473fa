package analysis

import (
	"slices"

	"nettoll/record"
)

// referenceTool is the tool that others are compared with where it was measured.
const referenceTool = "engine"

// Agreement compares two tools on cells that are equal but for the tool.
type Agreement struct {
	Cell      record.Cell `json:"cell"`      // without its tool
	Kind      record.Kind `json:"-"`         // the metric that both have
	Reference string      `json:"reference"` // the tool that is compared with: the engine where it was measured
	Tool      string      `json:"tool"`
	Expected  Figure      `json:"expected"`        // of Reference
	Found     Figure      `json:"found"`           // of Tool
	Ratio     *Comparison `json:"ratio,omitempty"` // Tool ÷ Reference, paired by round; nil where they share no round or a value is 0. Its effect takes more for better
	// Outcome says whether the tools agree: Same is that their figures are within the margin. NotKnown
	// is not agreement.
	Outcome    Outcome    `json:"outcome"`
	Reasons    []Warning  `json:"reasons"`             // where they differ: what the record shows that can explain it, likeliest first
	Namespaces Namespaces `json:"hosts_are,omitempty"` // that of its scenario
}

// compared are the metrics that tools are expected to agree on.
var compared = [...]string{record.Throughput, record.PacketRate, record.TransactionRate, record.LatencyMean, record.LatencyP50}

// agreements compares the tools of a run: in every cell that two or more tools
// measured, and in every metric that both have among throughput, packet rate,
// transaction rate, mean latency and p50. The order is that of the plan.
func agreements(res Result) []Agreement {
	var order []record.Cell
	byCell, namespaces := map[record.Cell][]Row{}, map[record.Cell]Namespaces{}
	for s, r := range res.Rows() {
		if len(r.Figures) == 0 {
			continue
		}
		c := r.Cell
		c.Tool = ""
		namespaces[c] = namespaces[c] || s.Namespaces
		if len(byCell[c]) == 0 {
			order = append(order, c)
		}
		if !slices.ContainsFunc(byCell[c], func(o Row) bool { return o.Cell.Tool == r.Cell.Tool }) {
			byCell[c] = append(byCell[c], r)
		}
	}
	var out []Agreement
	for _, c := range order {
		rows := byCell[c]
		base := max(0, slices.IndexFunc(rows, func(r Row) bool { return r.Cell.Tool == referenceTool }))
		for i, r := range rows {
			if i != base {
				for _, a := range agree(c, rows[base], r, judgingOf(res.Limits)) {
					a.Namespaces = namespaces[c]
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// agree compares two tools in every metric that they share.
func agree(c record.Cell, base, row Row, j judging) []Agreement {
	var out []Agreement
	for _, name := range compared {
		expected, has := base.Figure(name)
		found, too := row.Figure(name)
		if !has || !too {
			continue
		}
		a := Agreement{
			Cell: c, Kind: expected.Kind, Reference: base.Cell.Tool, Tool: row.Cell.Tool, Expected: expected, Found: found,
			Ratio: compare(pairUp(found.Points, expected.Points), record.HigherIsBetter, j), Reasons: []Warning{},
		}
		if a.Ratio != nil {
			a.Outcome = a.Ratio.Outcome
		}
		if a.Outcome == Different {
			a.Reasons = reasons(c, base, row, j)
		}
		out = append(out, a)
	}
	return out
}
