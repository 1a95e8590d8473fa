package report

import (
	"cmp"
	"slices"

	"nettoll/analysis"
)

// spot is one column of a sweep's table: a value of the axis, or of both.
type spot struct{ x, y int }

// spots are the places of a sweep at which anything was planned.
func spots(s analysis.Sweep) []spot {
	var all []spot
	for _, l := range s.Lines {
		for _, p := range l.Points {
			at := spot{p.X, p.Y}
			if !slices.Contains(all, at) && p.X < len(s.XTicks) && (p.Y < len(s.YTicks) || !s.Matrix()) {
				all = append(all, at)
			}
		}
	}
	slices.SortFunc(all, func(a, b spot) int { return cmp.Or(a.x-b.x, a.y-b.y) })
	return all
}

func (at spot) label(s analysis.Sweep) string {
	if s.Matrix() {
		return s.XTicks[at.x].Label + "×" + s.YTicks[at.y].Label
	}
	return s.XTicks[at.x].Label
}

// labelOf is that of the place of a point.
func labelOf(s analysis.Sweep, p analysis.SweepPoint) string { return spot{p.X, p.Y}.label(s) }

func pointAt(l analysis.Line, at spot) *analysis.Row {
	for i := range l.Points {
		if p := &l.Points[i]; p.X == at.x && p.Y == at.y {
			return &p.Row
		}
	}
	return nil
}

func axisTitle(s analysis.Sweep) string {
	if s.Matrix() {
		return s.X.Title + " × " + s.Y.Title
	}
	return s.X.Title
}
