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

// csvFigure are the columns of a figure.
var csvFigure = csvHeader[8:23]

// csvFigureOf are their values. What does not exist, such as the p-value of what was not
// tested, is empty.
func csvFigureOf(f analysis.Figure) []string {
	set := map[string]string{"estimate": exact(f.Summary.Estimate), "median": exact(f.Summary.Median)}
	interval := func(name string, low, high, level float64) {
		if level > 0 {
			set[strings.TrimPrefix(name+"_low", "_")], set[strings.TrimPrefix(name+"_high", "_")] = exact(low), exact(high)
		}
	}
	interval("", f.Summary.Low, f.Summary.High, f.Summary.Level)
	for name, c := range map[string]*analysis.Comparison{"ratio": f.Ratio, "difference": f.Difference} {
		if c != nil {
			set[name] = exact(c.Value)
			interval(name, c.Low, c.High, c.Level)
		}
	}
	if c := f.Comparison(); c != nil {
		set["outcome"], set["effect"] = c.Outcome.String(), string(c.Effect)
		if c.Level > 0 {
			set["p"] = exact(c.P)
		}
		if c.Judged {
			set["verdict"] = c.Verdict.String()
			if c.Level > 0 {
				set["adjusted_p"] = exact(c.Adjusted)
			}
		}
	}
	var values []string
	for _, name := range csvFigure {
		values = append(values, set[name])
	}
	return values
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
	cell := row.Cell
	line := []string{cell.Network, strconv.Itoa(cell.Hosts), strconv.Itoa(cell.Family), cell.Workload, cell.Placement}
	if f == nil {
		line = append(line, "", "", "0")
		line = append(line, make([]string, len(csvFigure))...)
	} else {
		line = append(line, f.Kind.Name, f.Kind.Unit, strconv.Itoa(f.Summary.N))
		line = append(line, csvFigureOf(*f)...)
	}
	twin := ""
	if cell.Twin != 0 {
		twin = strconv.Itoa(cell.Twin)
	}
	line = append(line, string(row.Status), row.Reason, cell.Tool, strconv.Itoa(cell.Servers), strconv.Itoa(cell.Clients),
		optionsText(cell.Options), cell.Underlay, twin, row.Remedy)
	set := map[string]string{"hosts_are": s.Namespaces.String()}
	for _, c := range coordinates(cell) {
		set[c.name] = c.value
	}
	for _, name := range csvHeader[len(line):] {
		line = append(line, set[name])
	}
	for i := range line {
		line[i] = inert(line[i])
	}
	return line
}

// inert is a cell that a spreadsheet takes for a text or a number and never runs: what is no
// number and begins as formulas do gets an apostrophe in front, which says that it is text.
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
