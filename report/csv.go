package report

import (
	"encoding/csv"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"nettoll/analysis"
	"nettoll/record"
)

// csvHeader has the conditions that are not in its fixed part at the end, where columns are added.
var csvHeader = record.AddNew([]string{
	"network", "hosts", "family", "workload", "placement", "metric", "unit", "n", "estimate", "low", "high", "median",
	"ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high",
	"p", "outcome", "effect", "adjusted_p", "verdict", "status", "reason",
	"tool", "servers", "clients", "options", "underlay", "twin", "remedy",
	"processes", "neighbours", "rules", "mtu", "offload", "normalize", "baseline", "hosts_are",
}, record.Each(record.Dimensions(record.Condition), record.Dimension.Identifier)...)

// writeCSV writes one line for every network and metric, in base units, and one for every cell that has no metric, with its
// reason. Times until something is in force are lines without traffic.
func writeCSV(w io.Writer, res analysis.Result, _ Options) error {
	lines := [][]string{csvHeader}
	for s, row := range res.Rows() {
		for _, f := range row.Figures {
			lines = append(lines, csvLine(s, row, &f))
		}
		if len(row.Figures) == 0 {
			lines = append(lines, csvLine(s, row, nil))
		}
	}
	for _, f := range res.InForce {
		lines = append(lines, csvInForce(f))
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// csvInForce returns the line of a time until something is in force.
func csvInForce(f analysis.InForce) []string {
	set := map[string]string{}
	for _, c := range described(analysis.Scenario{Namespaces: f.Namespaces}, f.Cell) {
		set[c.name] = c.value
	}
	set["family"] = ""
	csvFigure(set, analysis.Figure{Kind: record.Kind{Name: f.Of + "_in_force", Unit: "s"}, Summary: f.Summary})
	return csvCells(set)
}

func csvLine(s analysis.Scenario, row analysis.Row, f *analysis.Figure) []string {
	set := map[string]string{"n": "0", "twin": "", "status": string(row.Status), "reason": row.Reason, "remedy": row.Remedy}
	for _, c := range described(s, row.Cell) {
		set[c.name] = c.value
	}
	set["network"] = row.Cell.Network
	if row.Cell.Twin != 0 {
		set["twin"] = strconv.Itoa(row.Cell.Twin)
	}
	if f != nil {
		csvFigure(set, *f)
	}
	return csvCells(set)
}

// csvCells returns a line, given its columns by name.
func csvCells(set map[string]string) []string {
	return record.Each(csvHeader, func(name string) string { return inert(set[name]) })
}

// csvFigure sets the columns of a figure. Values that do not exist, for example the p-value
// of an untested comparison, are empty.
func csvFigure(set map[string]string, f analysis.Figure) {
	set["metric"], set["unit"], set["n"] = f.Name, f.Unit, strconv.Itoa(f.N)
	set["median"] = exact(f.Median)
	for name, v := range numbersOf(f) {
		set[strings.TrimPrefix(name, "estimate_")] = exact(v)
	}
	c := f.Comparison()
	if c == nil {
		return
	}
	set["outcome"], set["effect"] = c.Outcome.String(), string(c.Effect)
	if !c.IsZero() {
		set["p"] = exact(c.P)
	}
	if c.Judged {
		set["verdict"] = c.Verdict.String()
		if !c.IsZero() {
			set["adjusted_p"] = exact(c.Adjusted)
		}
	}
}

// numbersOf iterates over the existing numbers of a figure, by name: its estimate, its
// comparison with the baseline, and the ends of the interval of each, as in ratio_low.
func numbersOf(f analysis.Figure) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		each := func(name string, value float64, i analysis.Interval) bool {
			return yield(name, value) && (i.IsZero() || yield(name+"_low", i.Low) && yield(name+"_high", i.High))
		}
		_ = each("estimate", f.Estimate, f.Interval) &&
			(f.Ratio == nil || each("ratio", f.Ratio.Value, f.Ratio.Interval)) &&
			(f.Difference == nil || each("difference", f.Difference.Value, f.Difference.Interval))
	}
}

// inert makes a cell that a spreadsheet takes for text or a number and never evaluates: text
// that begins like a formula gets a leading apostrophe, which marks it as text.
func inert(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	cell = Printable(cell)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, " \u00a0"))
	if strings.ContainsRune("=+-@＝＋－＠", first) { // some accept the full-width ones, too
		return "'" + cell
	}
	return cell
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
