package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

var csvHeader = []string{
	"network", "hosts", "family", "workload", "placement", "metric", "unit", "n", "median", "low", "high",
	"ratio", "ratio_low", "ratio_high", "p", "verdict", "status", "reason",
	"tool", "servers", "clients", "options", "underlay", "twin", "remedy",
	"processes", "neighbours", "rules", "mtu", "offload", "normalize", "baseline",
}

// writeCSV writes one line for every network and metric, in base units, and
// one for every cell that has no metric, with its reason.
func writeCSV(w io.Writer, res analysis.Result, _ Options) error {
	c := csv.NewWriter(w)
	if err := c.Write(csvHeader); err != nil {
		return err
	}
	for _, s := range res.Scenarios {
		for _, row := range s.Rows {
			for _, f := range row.Figures {
				if err := c.Write(csvLine(row, &f)); err != nil {
					return err
				}
			}
			if len(row.Figures) == 0 {
				if err := c.Write(csvLine(row, nil)); err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

func csvLine(row analysis.Row, f *analysis.Figure) []string {
	cell := row.Cell
	line := []string{cell.Network, strconv.Itoa(cell.Hosts), strconv.Itoa(cell.Family), cell.Workload, cell.Placement}
	if f == nil {
		line = append(line, "", "", "0", "", "", "", "", "", "", "", "")
	} else {
		s := f.Summary
		line = append(line, f.Kind.Name, f.Kind.Unit, strconv.Itoa(s.N), exact(s.Median))
		if s.Level > 0 {
			line = append(line, exact(s.Low), exact(s.High))
		} else {
			line = append(line, "", "")
		}
		if r := f.Ratio; r != nil {
			low, high := exact(r.Low), exact(r.High)
			if r.Level == 0 {
				low, high = "", ""
			}
			line = append(line, exact(r.Ratio), low, high, exact(r.P), verdictName(r.Verdict))
		} else {
			line = append(line, "", "", "", "", "")
		}
	}
	twin := ""
	if cell.Twin != 0 {
		twin = strconv.Itoa(cell.Twin)
	}
	line = append(line, string(row.Status), row.Reason, cell.Tool, strconv.Itoa(cell.Servers), strconv.Itoa(cell.Clients),
		optionsText(cell.Options), cell.Underlay, twin, row.Remedy)
	set := map[string]string{}
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

func verdictName(v analysis.Verdict) string {
	switch v {
	case analysis.Better:
		return "better"
	case analysis.Worse:
		return "worse"
	}
	return "indistinguishable"
}

func betterName(k record.Kind) string {
	if k.Better == record.HigherIsBetter {
		return "higher"
	}
	return "lower"
}
