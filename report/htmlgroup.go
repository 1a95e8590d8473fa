package report

import (
	"fmt"
	"html/template"
	"strconv"

	"nettoll/analysis"
	"nettoll/record"
)

// groupView is one group of scenarios on the page.
type groupView struct {
	ID      string
	Title   string
	Traffic string
	Word    string // for what the networks are compared with
	Summary []sayingView
	Columns []columnView
	Lines   []lineView
	Charts  []chartView
	Caption string
	Rounds  drawnRounds
	Paths   []topologyView
	Facts   []endpointView
	Missing []missingView
}

type sayingView struct {
	Subject, Text string
	Shown         []string // the figures behind it
}

type columnView struct {
	Title, Unit, Hint string
	Baseline          string // empty where nothing is compared
	At, Beside        int    // columns of the table: the values', and that of what they are beside the baseline
}

type lineView struct {
	Name   string
	Native bool
	Marks  []int
	Cells  []cellView
}

type cellView struct {
	Value, Spread       string
	Key                 string // for sorting
	Compared            bool
	Change, ChangeRange string
	Place               string // for sorting by the change; empty where that is untested
	Class               string // worse, better, same or unknown
	Claimed             bool   // it holds among all primary comparisons
	Status              string // instead of all others
	Span                int    // columns that the status fills
}

type chartView struct {
	Title, Hint string
	File        string // what it is called when it is saved
	SVG         template.HTML
	Legend      []legendView
	Wide        bool
}

// drawnRounds are charts of networks over the rounds of a run.
type drawnRounds struct {
	Charts  []chartView
	Caption string
}

type legendView struct {
	Name  string
	Color int
	Dash  string
}

type missingView struct{ Name, Text, Remedy string }

func newGroupView(g titledGroup, index int, looks looks, n *notes) (groupView, error) {
	v := groupView{ID: fmt.Sprintf("g%d", index+1), Title: g.name, Traffic: g.measuredWith(), Word: g.word()}
	for _, s := range g.summary() {
		v.Summary = append(v.Summary, sayingView{Subject: s.subject, Text: s.text})
	}
	at := 1 // beside the networks
	for _, c := range g.columns {
		cv := columnView{Title: g.heading(c), Unit: c.scale.unit, Hint: hint(c.kind), At: at}
		at++
		if g.compared(c) {
			cv.Baseline, cv.Beside = g.baseline(), at
			at++
		}
		v.Columns = append(v.Columns, cv)
	}
	for _, l := range g.lines {
		lv := lineView{Name: l.name, Native: l.native, Marks: n.marks(l)}
		for _, c := range g.columns {
			lv.Cells = append(lv.Cells, newCell(g.group, l, c))
		}
		lv.Cells = joinAbsent(lv.Cells)
		v.Lines = append(v.Lines, lv)
		if p, ok := newTopology(l); ok {
			v.Paths = append(v.Paths, p)
		}
	}
	v.Facts = endpointFacts(g.group)
	for _, a := range g.absences() {
		remedy := a.remedy
		a.remedy = ""
		v.Missing = append(v.Missing, missingView{a.network, a.text(), capital(remedy)})
	}
	figures, err := g.figures(looks)
	if err != nil {
		return v, err
	}
	v.Caption = caption(figures, g.word(), g.res.Level, g.res.Margin)
	if v.Charts, err = chartViews(g.name, figures); err != nil {
		return v, err
	}
	figures = g.overRounds()
	v.Rounds.Caption = caption(figures, g.word(), g.res.Level, g.res.Margin)
	v.Rounds.Charts, err = chartViews(g.name, figures)
	return v, err
}

func chartViews(where string, figures []figure) ([]chartView, error) {
	var all []chartView
	for _, f := range figures {
		svg, err := f.chart.Inline()
		if err != nil {
			return nil, err
		}
		v := chartView{Title: f.title, Hint: f.hint, File: fileName(where + " " + f.title), SVG: template.HTML(svg), Wide: len(f.keys) > 0}
		for _, k := range f.keys {
			v.Legend = append(v.Legend, legendView{k.Name, k.Look.Color, k.Look.Dash})
		}
		all = append(all, v)
	}
	return all, nil
}

func hint(k record.Kind) string { return k.Better.String() + " is better" }

func newCell(g group, l line, c column) cellView {
	f, ok := l.figure(c)
	if !ok {
		span := 1
		if g.compared(c) {
			span = 2
		}
		return cellView{Status: absentText(l.rows[c.scenario]), Span: span}
	}
	cell := cellView{Value: c.scale.number(f.Summary.Estimate), Spread: spread(c.scale, f.Summary), Key: sortKey(f.Summary.Estimate), Compared: g.compared(c)}
	if shows, ends, compared := compared(c.scale, f); compared != nil {
		cell.Change, cell.ChangeRange, cell.Class = shows, ends, classOf(*compared)
		if compared.Outcome != analysis.Untested {
			cell.Place = sortKey(compared.Value)
		}
		cell.Claimed = compared.Primary && compared.Verdict == analysis.Different
	} else if l.native && cell.Compared {
		cell.Place = sortKey(g.noChange(c))
	}
	return cell
}

// sortKey is a value that rows are sorted by.
func sortKey(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }

// noChange is where the baseline stands among those that are compared with it: a ratio of 1, or a difference of 0.
func (g group) noChange(c column) float64 {
	for _, l := range g.lines {
		if f, ok := l.figure(c); ok {
			if c := f.Comparison(); c != nil && c.Minus {
				return 0
			}
		}
	}
	return 1
}

// joinAbsent makes one cell of neighbours that say the same instead of figures.
func joinAbsent(cells []cellView) []cellView {
	var joined []cellView
	for _, c := range cells {
		if last := len(joined) - 1; c.Status != "" && last >= 0 && joined[last].Status == c.Status {
			joined[last].Span += c.Span
			continue
		}
		joined = append(joined, c)
	}
	return joined
}
