package report

import (
	"fmt"
	"html/template"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/report/plot"
)

// groupView is one group of scenarios on the page.
type groupView struct {
	ID      string
	Title   string
	Traffic string
	Summary []sayingView
	Columns []columnView
	Lines   []lineView
	Charts  []chartView
	Curves  template.HTML
	Legend  []legendView
	Paths   []pathView
	Facts   []endpointView
	Missing []missingView
}

type sayingView struct{ Subject, Text string }

type columnView struct {
	Title, Unit, Hint string
	Baseline          string // empty where nothing is compared
}

type lineView struct {
	Name   string
	Native bool
	Marks  []int
	Cells  []cellView
}

type cellView struct {
	Value, Spread       string
	Compared            bool
	Change, ChangeRange string
	Class               string // worse, better or same
	Status              string // instead of all others
	Span                int    // columns that the status fills
}

type chartView struct {
	Title, Hint string
	SVG         template.HTML
}

type legendView struct {
	Name  string
	Color int
	Dash  string
}

type missingView struct{ Name, Text, Remedy string }

func newGroupView(g group, index int, n *notes) (groupView, error) {
	v := groupView{ID: fmt.Sprintf("g%d", index+1), Title: g.title(), Traffic: g.traffic()}
	for _, s := range g.summary() {
		v.Summary = append(v.Summary, sayingView{s.subject, s.text})
	}
	for _, c := range g.columns {
		cv := columnView{Title: c.kind.Title, Unit: c.scale.unit, Hint: hint(c.kind)}
		if g.compared(c) {
			cv.Baseline = g.baseline()
		}
		v.Columns = append(v.Columns, cv)
		if chart, ok, err := newChart(g, c); err != nil {
			return v, err
		} else if ok {
			v.Charts = append(v.Charts, chart)
		}
	}
	for _, l := range g.lines {
		lv := lineView{Name: l.name, Native: l.native, Marks: n.marks(l)}
		for _, c := range g.columns {
			lv.Cells = append(lv.Cells, newCell(g, l, c))
		}
		lv.Cells = joinAbsent(lv.Cells)
		v.Lines = append(v.Lines, lv)
		if p, ok := newPath(l); ok {
			v.Paths = append(v.Paths, p)
		}
	}
	v.Facts = endpointFacts(g)
	for _, a := range g.absences() {
		remedy := a.remedy
		a.remedy = ""
		v.Missing = append(v.Missing, missingView{a.network, a.text(), capital(remedy)})
	}
	return v, v.drawCurves(g)
}

func hint(k record.Kind) string {
	if k.Better == record.HigherIsBetter {
		return "higher is better"
	}
	return "lower is better"
}

func newCell(g group, l line, c column) cellView {
	f, ok := l.figure(c)
	if !ok {
		span := 1
		if g.compared(c) {
			span = 2
		}
		return cellView{Status: absentText(l.rows[c.scenario]), Span: span}
	}
	cell := cellView{Value: c.scale.number(f.Summary.Median), Spread: plusMinus(f.Summary), Compared: g.compared(c)}
	if f.Ratio != nil {
		cell.Change, cell.ChangeRange = change(*f.Ratio), changePlusMinus(*f.Ratio)
		cell.Class = map[analysis.Verdict]string{
			analysis.Better: "better", analysis.Worse: "worse", analysis.Indistinguishable: "same",
		}[f.Ratio.Verdict]
	}
	return cell
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

func newChart(g group, c column) (chartView, bool, error) {
	v := chartView{Title: capital(c.kind.Title) + ", " + c.scale.unit, Hint: hint(c.kind)}
	var bars []plot.Bar
	words := []string{v.Title + ", " + v.Hint + ":"}
	for _, l := range g.lines {
		f, ok := l.figure(c)
		if !ok {
			continue
		}
		s, per := f.Summary, c.scale.factor
		bars = append(bars, plot.Bar{
			Name: l.name, Text: c.scale.number(s.Median), Value: s.Median / per, Low: s.Low / per, High: s.High / per,
			Native: l.native, Same: f.Ratio != nil && f.Ratio.Verdict == analysis.Indistinguishable,
		})
		words = append(words, l.name+" "+c.scale.number(s.Median)+",")
	}
	if len(bars) == 0 {
		return v, false, nil
	}
	svg, err := plot.Bars(bars, strings.TrimSuffix(strings.Join(words, " "), ","))
	v.SVG = template.HTML(svg)
	return v, true, err
}

// drawCurves draws the latency distributions, where there are any.
func (v *groupView) drawCurves(g group) error {
	var curves []plot.Curve
	for _, l := range g.lines {
		for _, row := range l.rows {
			if row == nil || row.Latency == nil || row.Latency.TotalCount() < plot.FewestValues {
				continue
			}
			look := plot.LookOf(others(v.Legend), l.native)
			v.Legend = append(v.Legend, legendView{l.name, look.Color, look.Dash})
			curves = append(curves, plot.Curve{Native: l.native, Histogram: row.Latency})
			break
		}
	}
	if len(curves) == 0 {
		return nil
	}
	names := make([]string, len(v.Legend))
	for i, l := range v.Legend {
		names[i] = l.Name
	}
	svg, err := plot.Percentiles(curves, "Latency by percentile, one line for each of: "+strings.Join(names, ", "))
	v.Curves = template.HTML(svg)
	return err
}

// others counts the curves that are not native's.
func others(legend []legendView) int {
	n := 0
	for _, l := range legend {
		if l.Color != 0 {
			n++
		}
	}
	return n
}
