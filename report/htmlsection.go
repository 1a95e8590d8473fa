package report

import (
	"fmt"
	"slices"
	"strings"

	"nettoll/analysis"
)

// sectionView is a section on the page.
type sectionView struct {
	ID, Title, Meta string
	Summary         []sayingView
	Charts          []chartView
	Caption         string
	Sheets          []sheetView
	Missing         []missingView
	Remarks         []string
}

type sheetView struct {
	Title   string
	Note    string
	Stub    []string
	Columns []string
	Lines   []sheetLineView
	Folded  bool
	Sorts   bool
}

type sheetLineView struct {
	Names  []string // of the line; the first is its heading
	Marks  []int
	Native bool
	Second bool // belongs to the line above
	Cells  []sheetCellView
}

type sheetCellView struct {
	Value, Spread, Class string
	Key                  string // for sorting
	Marks                []int
}

func newSectionView(s section, index int, res analysis.Result) (sectionView, error) {
	v := sectionView{ID: fmt.Sprintf("s%d", index+1), Title: s.title, Meta: s.meta, Remarks: s.remarks}
	for i, say := range s.sayings {
		sv := sayingView{Subject: say.subject, Text: say.text}
		if i < len(s.shown) {
			sv.Shown = s.shown[i]
		}
		v.Summary = append(v.Summary, sv)
	}
	for _, sh := range s.sheets {
		v.Sheets = append(v.Sheets, newSheetView(sh))
	}
	for _, a := range s.missing {
		remedy := a.remedy
		a.remedy = ""
		v.Missing = append(v.Missing, missingView{a.network, a.text(), capital(remedy)})
	}
	var err error
	v.Caption = caption(s.figures, "the baseline", res.Level, res.Margin)
	v.Charts, err = chartViews(s.title, s.figures)
	return v, err
}

func newSheetView(s sheet) sheetView {
	v := sheetView{Title: s.title, Note: s.note, Stub: s.stub, Columns: s.columns, Folded: s.folded}
	for _, l := range s.lines {
		first := ""
		lv := sheetLineView{Marks: l.marks, Native: l.native}
		if len(l.names) > 0 {
			first = l.names[0]
		}
		lv.Second = first == "" || strings.HasPrefix(first, " ")
		for _, name := range l.names {
			lv.Names = append(lv.Names, strings.TrimSpace(name))
		}
		for _, c := range absentOnce(l.cells) {
			lv.Cells = append(lv.Cells, sheetCellView{c.value, c.spread, c.class, c.key, c.marks})
			v.Sorts = v.Sorts || c.key != "" && len(s.stub) == 1
		}
		v.Lines = append(v.Lines, lv)
	}
	return v
}

// sweptPaths gives the paths of networks that stand in sweeps only, each once
// for each number of hosts.
func sweptPaths(res analysis.Result) []topologyView {
	swept := swept(res)
	var all []topologyView
	var seen []string
	for _, s := range res.Scenarios {
		if !swept[s.Cell.Scenario().Key()] {
			continue
		}
		for i := range s.Rows {
			row := &s.Rows[i]
			name := networkName(row.Cell)
			key := fmt.Sprintf("%s/%d", name, s.Cell.Hosts)
			if slices.Contains(seen, key) {
				continue
			}
			if p, ok := newTopology(line{name: name, rows: []*analysis.Row{row}}); ok {
				seen = append(seen, key)
				all = append(all, p)
			}
		}
	}
	return all
}
