package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"nettoll/analysis"
)

var csvHeader = []string{
	"network", "hosts", "family", "workload", "placement", "metric", "unit", "n", "estimate", "low", "high", "median",
	"ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high",
	"p", "outcome", "effect", "adjusted_p", "verdict", "status", "reason",
	"tool", "servers", "clients", "options", "underlay", "twin", "remedy",
	"processes", "neighbours", "rules", "mtu", "offload", "normalize", "baseline", "hosts_are",
}

// writeCSV writes one line for every network and metric, in base units, and
// one for every cell that has no metric, with its reason.
func writeCSV(w io.Writer, res analysis.Result, _ Options) error {
	c := csv.NewWriter(w)
	if err := c.Write(csvHeader); err != nil {
		return err
	}
	for s, row := range res.Rows() {
		for _, f := range row.Figures {
			if err := c.Write(csvLine(s, row, &f)); err != nil {
				return err
			}
		}
		if len(row.Figures) == 0 {
			if err := c.Write(csvLine(s, row, nil)); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
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
	var line []string
	for _, name := range csvHeader {
		line = append(line, inert(set[name]))
	}
	return line
}

// csvFigure sets the columns of a figure. What does not exist, such as the p-value of what was not
// tested, is empty.
func csvFigure(set map[string]string, f analysis.Figure) {
	set["metric"], set["unit"], set["n"] = f.Name, f.Unit, strconv.Itoa(f.N)
	number := func(name string, known bool, v float64) {
		if known {
			set[name] = exact(v)
		}
	}
	interval := func(of string, i analysis.Interval) {
		number(of+"low", !i.IsZero(), i.Low)
		number(of+"high", !i.IsZero(), i.High)
	}
	number("estimate", true, f.Estimate)
	number("median", true, f.Median)
	interval("", f.Interval)
	for name, c := range map[string]*analysis.Comparison{"ratio": f.Ratio, "difference": f.Difference} {
		if c != nil {
			number(name, true, c.Value)
			interval(name+"_", c.Interval)
		}
	}
	if c := f.Comparison(); c != nil {
		set["outcome"], set["effect"] = c.Outcome.String(), string(c.Effect)
		number("p", !c.IsZero(), c.P)
		number("adjusted_p", !c.IsZero() && c.Judged, c.Adjusted)
		if c.Judged {
			set["verdict"] = c.Verdict.String()
		}
	}
}

// inert is a cell that a spreadsheet takes for text or a number and never evaluates: text that begins
// like a formula gets an apostrophe in front, which marks it as text.
func inert(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	cell = printable(cell)
	for _, first := range strings.TrimLeft(cell, " \u00a0") {
		if strings.ContainsRune("=+-@＝＋－＠", first) { // some read the wide ones, too
			return "'" + cell
		}
		break
	}
	return cell
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
