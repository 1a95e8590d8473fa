package report

import (
	"fmt"
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// mostAgreements is how many tables of tools a terminal gets; of more, only
// those in which tools differ.
const mostAgreements = 4

// agreementSections compares tools: a table for each scenario and metric, networks
// down, tools to the right.
func agreementSections(res analysis.Result, n *notes) []section {
	if len(res.Agreements) == 0 {
		return nil
	}
	sec := section{title: "Do the tools agree?", meta: "Each tool beside " + referenceNames(res.Agreements) + ", on cells that are equal but for the tool. " +
		"They agree where the whole interval of their ratio lies within " + analysis.Percent(res.Margin) + " of 1. Each comparison is at the level of the run for itself."}
	type key struct {
		cell      record.Cell
		metric    string
		reference string
	}
	var keys []key
	tables := map[key][]analysis.Agreement{}
	for _, a := range res.Agreements {
		k := key{a.Cell.Scenario(), a.Kind.Name, a.Reference}
		if _, known := tables[k]; !known {
			keys = append(keys, k)
		}
		tables[k] = append(tables[k], a)
	}
	sec.sayings = agreementSummary(res.Agreements)
	shown := 0
	for _, k := range keys {
		sh := agreementSheet(tables[k], n)
		differs := slices.ContainsFunc(tables[k], func(a analysis.Agreement) bool { return a.Outcome == analysis.Different })
		sh.long = len(keys) > mostAgreements && (!differs || shown >= mostAgreements)
		sh.folded = len(keys) > mostAgreements && !differs
		if differs {
			shown++
		}
		sec.sheets = append(sec.sheets, sh)
	}
	return []section{sec}
}

func referenceNames(all []analysis.Agreement) string {
	var names []string
	for _, a := range all {
		if !slices.Contains(names, a.Reference) {
			names = append(names, a.Reference)
		}
	}
	return strings.Join(names, " or ")
}

// agreementSummary counts for each tool where it agrees.
func agreementSummary(all []analysis.Agreement) []saying {
	type tally struct {
		tool, reference                  string
		agree, differ, unknown, untested int
	}
	var tallies []tally
	for _, a := range all {
		at := slices.IndexFunc(tallies, func(t tally) bool { return t.tool == a.Tool && t.reference == a.Reference })
		if at < 0 {
			at = len(tallies)
			tallies = append(tallies, tally{tool: a.Tool, reference: a.Reference})
		}
		switch a.Outcome {
		case analysis.Same:
			tallies[at].agree++
		case analysis.Different:
			tallies[at].differ++
		case analysis.NotKnown:
			tallies[at].unknown++
		default:
			tallies[at].untested++
		}
	}
	var out []saying
	for _, t := range tallies {
		total := t.agree + t.differ + t.unknown + t.untested
		text := fmt.Sprintf("agrees with %s in %d of %d %s", t.reference, t.agree, total, plural(total, "figure"))
		if t.differ > 0 {
			text += fmt.Sprintf(", differs in %d", t.differ)
		}
		if t.unknown > 0 {
			text += fmt.Sprintf(", is not known to do either in %d", t.unknown)
		}
		if t.untested > 0 {
			text += fmt.Sprintf(", and has too few common rounds in %d", t.untested)
		}
		out = append(out, saying{t.tool, text + "."})
	}
	return out
}

func agreementSheet(all []analysis.Agreement, n *notes) sheet {
	first := all[0]
	sc := scaleFor(first.Kind, first.Expected.Summary.Estimate)
	sh := sheet{stub: []string{"network"}, columns: []string{first.Reference}}
	sh.title = unitTitle(first.Kind, sc) + ": " + first.Cell.Workload + ", " + lower(titleOf(first.Cell, first.Namespaces))
	if o := optionsText(first.Cell.Options); o != "" {
		sh.title += ", " + o
	}
	const each = 3 // columns of a tool
	var tools []string
	for _, a := range all {
		if !slices.Contains(tools, a.Tool) {
			tools = append(tools, a.Tool)
			sh.columns = append(sh.columns, a.Tool, "÷ "+a.Reference, "")
		}
	}
	for _, a := range all {
		name := networkName(a.Cell)
		at := slices.IndexFunc(sh.lines, func(l sheetLine) bool { return l.names[0] == name })
		if at < 0 {
			at = len(sh.lines)
			l := sheetLine{names: []string{name}, native: a.Cell.IsNative(), cells: make([]sheetCell, len(sh.columns))}
			l.cells[0] = figureCell(sc, a.Expected)
			sh.lines = append(sh.lines, l)
		}
		cells := sh.lines[at].cells[1+each*slices.Index(tools, a.Tool):]
		cells[0] = figureCell(sc, a.Found)
		if a.Ratio != nil {
			cells[1] = shareCell(*a.Ratio)
		}
		cells[2] = concordCell(a, n)
	}
	return sh
}

// shareCell writes a ratio as a share.
func shareCell(c analysis.Comparison) sheetCell {
	cell := sheetCell{value: percentTo(c.Value, shareDecimals(c.Value)), spread: "±?"}
	if c.Value >= 10 {
		cell.value = factor(c.Value)
	}
	if c.Level > 0 {
		cell.spread = shareRange(c)
	}
	return cell
}

func concordCell(a analysis.Agreement, n *notes) sheetCell {
	switch a.Outcome {
	case analysis.Same:
		return sheetCell{value: "agrees", class: "same"}
	case analysis.Different:
		var marks []int
		for _, w := range a.Reasons {
			w.Text = a.Tool + " against " + a.Reference + ": " + w.Text
			if k := n.number(w); !slices.Contains(marks, k) {
				marks = append(marks, k)
			}
		}
		slices.Sort(marks)
		return sheetCell{value: "differs", class: "worse", marks: marks}
	case analysis.NotKnown:
		return sheetCell{value: "not known", class: "unknown"}
	}
	return sheetCell{value: "untested", class: "unknown"}
}

// lower is capital undone, but for words that are capitals.
func lower(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
