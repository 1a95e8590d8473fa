package report

import (
	"slices"
	"strings"
	"testing"
)

// barred returns a table with bars, and the bars of its lines, without colour.
func barred(t *testing.T, g group, width int) (table *textTable, lines []string) {
	t.Helper()
	table = newTextTable(g.table(&notes{}), false)
	table.fit(width)
	if table.bars.columns == 0 {
		return table, nil
	}
	for i := range g.lines {
		lines = append(lines, table.bars.bar(i, false))
	}
	return table, lines
}

// TestBars: a bar has its mark at the change, between the ends of its interval, and the
// baseline is at the same place in all of them.
func TestBars(t *testing.T) {
	drawn := 0
	for name, res := range awkward() {
		for _, g := range apart(res) {
			table, lines := barred(t, g, 300)
			base := -1
			for i, l := range lines {
				cells := []rune(l)
				if len(cells) != table.bars.columns {
					t.Errorf("%s, %s: %d columns of %d", name, g.lines[i].name, len(cells), table.bars.columns)
				}
				c := table.bars.changes[i]
				mark, at := slices.Index(cells, '●'), slices.Index(cells, '│')
				if (mark >= 0) != (c != nil) {
					t.Errorf("%s, %s: there is a mark: %v; %q", name, g.lines[i].name, mark >= 0, l)
				}
				if at >= 0 && base >= 0 && at != base {
					t.Errorf("%s, %s: the baseline is at %d, and at %d in others", name, g.lines[i].name, at, base)
				}
				if at >= 0 {
					base = at
				}
				if c == nil || at < 0 {
					continue
				}
				drawn++
				if mark != table.bars.at(c.Value) || (mark < at) != (c.Value < 1) || c.Level > 0 && !strings.ContainsAny(string(cells[max(0, mark-1):min(len(cells), mark+2)]), "─│") && table.bars.at(c.Low) != table.bars.at(c.High) {
					t.Errorf("%s, %s: %v (%v to %v) is drawn as %q", name, g.lines[i].name, c.Value, c.Low, c.High, l)
				}
			}
		}
	}
	if drawn < 20 {
		t.Errorf("only %d bars were drawn", drawn)
	}
}

// TestBarsTakeNothingAway: no part of a table is dropped for bars.
func TestBarsTakeNothingAway(t *testing.T) {
	res, _ := specimenResult()
	for _, g := range apart(res) {
		with := 0
		for width := 40; width < 260; width++ {
			table, lines := barred(t, g, width)
			if len(lines) == 0 {
				continue
			}
			with++
			for i, c := range g.columns {
				if !table.shown[i][value] || !table.shown[i][valueSpread] || g.compared(c) && !(table.shown[i][ratio] && table.shown[i][ratioSpread]) {
					t.Errorf("at %d columns, %s is not whole", width, c.kind.Title)
				}
			}
			if table.width() > width {
				t.Errorf("at %d columns the table has %d", width, table.width())
			}
		}
		if with == 0 {
			t.Error("there are no bars at any width")
		}
	}
}

// TestNarrowTablesKeepMarks: where names have to be shortened they stay apart, and their marks stay whole.
func TestNarrowTablesKeepMarks(t *testing.T) {
	lines := []tableLine{
		{Names: []string{"docker:ovs-userspace-vxlan"}, Marks: []int{1, 7, 10}},
		{Names: []string{"docker:ovs-userspace-geneve"}, Marks: []int{7}},
		{Names: []string{"host"}},
	}
	for i := range lines {
		lines[i].Cells = []cell{{Value: "10.1"}}
	}
	table := newTextTable(table{Stub: []string{"network"}, Columns: columnsOf("Gbit/s"), Lines: lines}, false)
	table.cutNames(table.width() - 32)
	if got := table.width(); got > 32 {
		t.Errorf("%d columns", got)
	}
	seen := map[string]bool{}
	for i, row := range table.grid().body {
		name, marked := strings.CutSuffix(row[0], table.marks[i])
		if seen[name] || !marked || !strings.HasPrefix(table.marks[i], strings.TrimRight(" "+superscript(lines[i].Marks), " ")) {
			t.Errorf("row %d is %q", i, row[0])
		}
		seen[name] = true
	}
}
