package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/reference"
)

// replicationSections compares published figures with measured ones.
func replicationSections(res analysis.Result) []*section {
	var all []*section
	for _, r := range res.Replications {
		sec := &section{Title: "Compared with published figures: " + sourceTitle(r.Source), Missing: skippedCells(r)}
		if r.Measured == 0 {
			sec.Meta = fmt.Sprintf("None of the %d published cells was measured.", r.Cells)
			all = append(all, sec)
			continue
		}
		sec.Meta = fmt.Sprintf("%d of %d published cells %s measured. Figures of different machines cannot be compared; how each network relates to the others can. Each single comparison has the confidence level of the run.", r.Measured, r.Cells, oneOr(r.Measured, "was", "were"))
		if slices.ContainsFunc(r.Tables, func(t analysis.ReplicatedTable) bool {
			return slices.ContainsFunc(t.Cells, func(c analysis.ReplicatedCell) bool { return bool(c.Namespaces) })
		}) {
			sec.Meta += " Hosts here are " + analysis.Namespaces(true).String() + "."
		}
		for _, c := range r.Conclusions {
			sec.Summary = append(sec.Summary, conclusionSaying(c))
		}
		for _, t := range r.Tables {
			sec.Tables = append(sec.Tables, publishedTable(t))
			sec.Remarks = append(sec.Remarks, correlationText(t)...)
		}
		sec.Remarks = append(sec.Remarks, cellNotes(r)...)
		for _, note := range r.Source.Notes {
			sec.Remarks = append(sec.Remarks, "Source note: "+strings.TrimRight(note, ".")+".")
		}
		all = append(all, sec)
	}
	return all
}

func sourceTitle(s reference.Source) string {
	title := cmp.Or(s.Title, s.Name)
	if s.Year > 0 {
		title += " (" + strconv.Itoa(s.Year) + ")"
	}
	return title
}

func conclusionSaying(c analysis.CheckedConclusion) statement {
	text := "“" + strings.TrimRight(c.Conclusion.Text, ". ") + "”"
	if c.Details != "" {
		text += ": " + strings.TrimRight(c.Details, ". ")
	}
	return statement{capital(c.Measured.Words()) + ":", text + ".", c.Evidence}
}

// publishedTable has two lines for each network: as published and as measured, each with its share of the baseline.
func publishedTable(t analysis.ReplicatedTable) table {
	baseline := t.Table.Baseline
	measured := slices.ContainsFunc(t.Cells, func(c analysis.ReplicatedCell) bool { return c.Measured != nil })
	sh := table{Title: tableTitle(t.Table), Stub: []string{"network", ""}, Folded: !measured}
	sc := replicatedScale(t)
	sh.Note = "Published in " + t.Table.Unit
	if t.Table.Relative {
		sh.Note = "Published as the difference from " + baseline
	}
	switch {
	case ofTheMachine(t):
		sh.Note += fmt.Sprintf(", measured as a share of the %s of a host", countOf(t.CPUs, "CPU"))
	case sc.unit != "" && sc.unit != t.Table.Unit:
		sh.Note += ", measured in " + sc.unit
	}
	if baseline != "" {
		sh.Note += "; in brackets, as a share of " + baseline
	}
	if t.Table.Axis != "" {
		sh.Note += "; by " + t.Table.Axis
	}
	sh.Note += "."
	sh.Columns = columnsOf(record.Each(t.Table.Columns, func(c reference.Place) string { return c.Label })...)
	for _, network := range t.Table.Networks() {
		published := tableLine{Names: []string{network, "published"}, Native: network == baseline}
		measured := tableLine{Names: []string{standsIn(t, network), "measured"}, Native: network == baseline}
		for _, c := range t.Table.Columns {
			at := slices.IndexFunc(t.Cells, func(rc analysis.ReplicatedCell) bool {
				return rc.Published.Network == network && rc.Published.Label == c.Label
			})
			if at < 0 {
				published.Cells, measured.Cells = append(published.Cells, cell{}), append(measured.Cells, cell{})
				continue
			}
			published.Cells = append(published.Cells, publishedCell(t.Table, t.Cells[at]))
			measured.Cells = append(measured.Cells, measuredCell(sc, t.Cells[at]))
		}
		sh.Lines = append(sh.Lines, published)
		if slices.ContainsFunc(measured.Cells, func(c cell) bool { return c.Class != absent && c.Value != "" }) {
			sh.Lines = append(sh.Lines, measured)
		}
	}
	return sh
}

// tableTitle begins with a capital, unless it begins with the name of a tool.
func tableTitle(t reference.Table) string {
	if t.Tool != "" && strings.HasPrefix(t.Name, t.Tool) {
		return t.Name
	}
	return capital(t.Name)
}

// standsIn names the network that stands in for one of the source, so that its figures are
// not taken for those of the original.
func standsIn(t analysis.ReplicatedTable, network string) string {
	if c, ok := record.First(t.Cells, func(c analysis.ReplicatedCell) bool { return c.Published.Network == network && c.StandsIn() }); ok {
		return "  " + c.Cell.Network
	}
	return ""
}

// ofTheMachine reports whether a table gives CPU time as a share of a host's CPUs, and their number is known here.
func ofTheMachine(t analysis.ReplicatedTable) bool {
	return t.Table.Unit == "percent of the machine" && t.Kind.Unit == "cpu-s/s" && t.CPUs > 0
}

func replicatedScale(t analysis.ReplicatedTable) scale {
	if ofTheMachine(t) {
		return scale{factor: float64(t.CPUs) / 100, unit: "%"}
	}
	for _, c := range t.Cells {
		if c.Measured != nil && c.Measured.Estimate > 0 {
			return scaleFor(t.Kind, c.Measured.Estimate)
		}
	}
	return scaleFor(t.Kind, 0)
}

func publishedCell(t reference.Table, c analysis.ReplicatedCell) cell {
	if !c.Published.Given() {
		return cell{Value: "not given", Class: absent}
	}
	shown := cell{Value: strconv.FormatFloat(c.Published.Value, 'f', -1, 64)}
	if t.Relative {
		shown.Value = strings.Replace(shown.Value, "-", "−", 1) + "%"
		if c.Published.Value > 0 {
			shown.Value = "+" + shown.Value
		}
	}
	if c.PublishedRatio > 0 {
		shown.Spread = "(" + bareShare(c.PublishedRatio) + ")"
	}
	return shown
}

func measuredCell(sc scale, c analysis.ReplicatedCell) cell {
	if c.Measured == nil {
		return absentCell(nil)
	}
	shown := cell{Value: sc.number(c.Measured.Estimate), Spread: spread(sc, c.Measured.Summary)}
	if c.Ratio != nil {
		shown.Spread = "(" + shareText(*c.Ratio) + ")"
	}
	return shown
}

// shareText formats a ratio as a share of the baseline, with its interval.
func shareText(c analysis.Comparison) string {
	if c.Level == 0 {
		return bareShare(c.Value) + " " + noSpread
	}
	value, ends := shareAndEnds(c)
	return value + ", " + ends
}

// shareDecimals is 1 for shares below 10 %, and otherwise 0.
func shareDecimals(share float64) int {
	if share < 0.0995 {
		return 1
	}
	return 0
}

// fewestPairs is the smallest number of pairs for which a rank correlation is shown.
const fewestPairs = 3

// correlationText describes how similar published and measured figures are.
func correlationText(t analysis.ReplicatedTable) []string {
	var parts []string
	for _, c := range []struct {
		c    analysis.Correlation
		what string
	}{{t.Order, "networks rank"}, {t.Shape, "figures rise and fall"}} {
		if c.c.Known && c.c.N >= fewestPairs {
			parts = append(parts, fmt.Sprintf("%s %s (Kendall's τ %s, %d %s)", c.what, likeness(c.c.Tau),
				strings.Replace(strconv.FormatFloat(c.c.Tau, 'f', 2, 64), "-", "−", 1), c.c.N, plural(c.c.N, "pair")))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{tableTitle(t.Table) + ": " + strings.Join(parts, "; ") + "."}
}

// likeness puts a rank correlation in words.
func likeness(tau float64) string {
	switch {
	case tau > 1-1e-9:
		return "as published"
	case tau >= 0.9:
		return "almost exactly as published"
	case tau >= 0.6:
		return "mostly as published"
	case tau >= 0.2:
		return "only partly as published"
	case tau > -0.2:
		return "independently of the published figures"
	}
	return "mostly the opposite way"
}

// skippedCells lists the reasons why published cells were not measured, each once. All cells
// that are not in the run share one reason.
func skippedCells(r analysis.Replication) []absence {
	var all, met []absence
	var without []string
	left := 0
	for _, t := range r.Tables {
		for _, c := range t.Cells {
			if c.Unplanned {
				left++
				without = record.AddNew(without, c.Published.Network)
				continue
			}
			if c.Skipped != "" {
				met = append(met, absence{Network: c.Published.Network, reason: c.Skipped})
			}
		}
	}
	for _, same := range record.Gather(met, func(a absence) absence { return a }) {
		a := same[0]
		a.counted = fmt.Sprintf("%d %s", len(same), plural(len(same), "cell"))
		all = append(all, a)
	}
	all = gathered(all)
	for i := range all {
		was, each := "was", ""
		if strings.Contains(all[i].Network, ", ") {
			was, each = "were", " each"
		}
		all[i].status, all[i].counted = was+" not measured in "+all[i].counted+each, ""
	}
	if left > 0 {
		all = append(all, absence{
			Network: enumerated(without), status: fmt.Sprintf("%s not measured in %s", oneOr(len(without), "was", "were"), countOf(left, "cell")),
			reason: analysis.NotInRun, remedy: "measure them with nettoll run --suite " + r.Source.Name,
		})
	}
	return all
}

// cellNotes describes how measured cells differ from published ones, each difference once.
func cellNotes(r analysis.Replication) []string {
	var all, notes []string
	measured := 0
	for _, t := range r.Tables {
		for _, c := range t.Cells {
			if c.Measured != nil {
				measured++
			}
			all = append(all, c.Notes...)
		}
	}
	for _, same := range record.Gather(all, func(note string) string { return capital(strings.TrimRight(note, ". ")) }) {
		note, n := capital(strings.TrimRight(same[0], ". ")), len(same)
		if n < measured {
			note += fmt.Sprintf(" (%d %s)", n, plural(n, "cell"))
		}
		notes = append(notes, note+".")
	}
	return notes
}
