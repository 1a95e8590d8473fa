package report

import (
	"fmt"
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// mostAgreements is the largest number of tables of tools on a terminal; if there are more,
// only the first of those in which tools differ are shown.
const mostAgreements = 4

// agreementSections compares tools: a table for each scenario and metric, with networks as
// lines and tools as columns.
func agreementSections(res analysis.Result, n *notes) []*section {
	if len(res.Agreements) == 0 {
		return nil
	}
	sec := &section{Title: "Do the tools agree?", Meta: "Each tool compared with " + referenceNames(res.Agreements) + ", on cells that differ only in the tool. " +
		"Two tools agree where the whole interval of their ratio lies within " + analysis.Percent(res.Margin) + " of 1. Each single comparison has the confidence level of the run."}
	type key struct {
		cell      record.Cell
		metric    string
		reference string
	}
	tables := record.Gather(res.Agreements, func(a analysis.Agreement) key { return key{a.Cell.Scenario(), a.Kind.Name, a.Reference} })
	sec.Summary = agreementSummary(res.Agreements)
	shown := 0
	for _, all := range tables {
		sh := agreementTable(all, res.Margin, n)
		differs := slices.ContainsFunc(all, func(a analysis.Agreement) bool { return a.Outcome == analysis.Different })
		sh.long = len(tables) > mostAgreements && (!differs || shown >= mostAgreements)
		sh.Folded = len(tables) > mostAgreements && !differs
		if differs {
			shown++
		}
		sec.Tables = append(sec.Tables, sh)
	}
	return []*section{sec}
}

func referenceNames(all []analysis.Agreement) string {
	return strings.Join(record.Distinct(all, func(a analysis.Agreement) string { return a.Reference }), " or ")
}

// agreementSummary counts the agreements of each tool.
func agreementSummary(all []analysis.Agreement) []statement {
	type pair struct{ tool, reference string }
	var out []statement
	for _, pairs := range record.Gather(all, func(a analysis.Agreement) pair { return pair{a.Tool, a.Reference} }) {
		of, total := map[analysis.Outcome]int{}, len(pairs)
		for _, a := range pairs {
			of[a.Outcome]++
		}
		text := phrases{fmt.Sprintf("agrees with %s in %d of %d %s", pairs[0].Reference, of[analysis.Same], total, plural(total, "figure"))}
		text.add(of[analysis.Different] > 0, fmt.Sprintf("differs in %d", of[analysis.Different]))
		text.add(of[analysis.NotKnown] > 0, fmt.Sprintf("is not known to do either in %d", of[analysis.NotKnown]))
		text.add(of[analysis.Untested] > 0, fmt.Sprintf("and has too few common rounds in %d", of[analysis.Untested]))
		out = append(out, statement{pairs[0].Tool, join(text) + ".", nil})
	}
	return out
}

func agreementTable(all []analysis.Agreement, margin float64, n *notes) table {
	first := all[0]
	sc := scaleFor(first.Kind, first.Expected.Summary.Estimate)
	sh := table{Stub: []string{"network"}, Columns: columnsOf(first.Reference)}
	sh.Title = unitTitle(first.Kind, sc) + ": " + first.Cell.Workload + ", " + lower(titleOf(first.Cell, first.Namespaces))
	if o := optionsText(first.Cell.Options); o != "" {
		sh.Title += ", " + o
	}
	const each = 3 // columns per tool
	tools := record.Distinct(all, func(a analysis.Agreement) string { return a.Tool })
	for _, tool := range tools {
		sh.Columns = append(sh.Columns, columnsOf(tool, "÷ "+first.Reference, "agreement")...)
	}
	for _, a := range all {
		l := sh.line(networkName(a.Cell))
		if l.Cells[0].Value == "" {
			l.Native, l.Cells[0] = a.Cell.IsNative(), figureCell(sc, a.Expected)
		}
		cells := l.Cells[1+each*slices.Index(tools, a.Tool):]
		cells[0] = figureCell(sc, a.Found)
		if a.Ratio != nil {
			cells[1] = shareCell(*a.Ratio, 1-margin, 1+margin)
		} else if shows, ends, c := compared(sc, analysis.Figure{Kind: a.Kind, Difference: a.Difference}); c != nil {
			cells[1] = cell{Value: shows, Spread: ends}
		}
		cells[2] = concordCell(a, n)
	}
	return sh
}

// shareCell formats a ratio as a share, or as a factor from twice up. See sharesDecimals for edges.
func shareCell(c analysis.Comparison, edges ...float64) cell {
	out := cell{Key: sortKey(c.Value)}
	switch {
	case c.Level == 0 && c.Value >= 10:
		out.Value, out.Spread = factor(c.Value), noSpread
	case c.Level == 0:
		out.Value, out.Spread = bareShare(c.Value), noSpread
	case c.Low >= 2:
		out.Value, out.Spread = inRange(c.Value, c.Low, c.High, factorDecimals(c.Low))
		out.Value, out.Spread = out.Value+"×", out.Spread+"×"
	default:
		out.Value, out.Spread = shareAndEnds(c, edges...)
	}
	return out
}

func concordCell(a analysis.Agreement, n *notes) cell {
	switch a.Outcome {
	case analysis.Same:
		return cell{Value: "agrees", Class: "same"}
	case analysis.Different:
		var marks []int
		for _, w := range a.Reasons {
			w.Text = "between " + a.Tool + " and " + a.Reference + ": " + w.Text
			marks = record.AddNew(marks, n.number(w))
		}
		slices.Sort(marks)
		return cell{Value: "differs", Class: "worse", Marks: marks}
	case analysis.NotKnown:
		return cell{Value: "not known", Class: "unknown"}
	}
	return cell{Value: "untested", Class: "unknown"}
}

// lower makes the first letter lower case if the second one is: CPU and p50 stay as they are.
func lower(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
