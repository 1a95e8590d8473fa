package report

import (
	"math"
	"strings"

	"nettoll/analysis"
)

// How many columns of a terminal bars take, where there is room.
const (
	fewestBarColumns = 20
	mostBarColumns   = 32
)

// farthestBar is the largest factor, either way, that a bar shows as it is.
const farthestBar = 1000

// textBars are the changes of one metric against the baseline, as a forest plot in a column of a table: on a scale of
// factors, the interval as a line, the estimate on it, and the baseline upright.
type textBars struct {
	title    string
	columns  int
	from, to float64                // logarithms of the ends of the scale
	changes  []*analysis.Comparison // by line; nil where nothing is compared
}

// newTextBars takes the first metric that is compared by ratios.
func newTextBars(t table, columns int) (b textBars, ok bool) {
	for at, c := range t.Columns {
		b = textBars{title: c.short, columns: columns, changes: make([]*analysis.Comparison, len(t.Lines))}
		found := false
		for i, l := range t.Lines {
			if r := l.Cells[at].against; r != nil && !r.Minus && r.Value > 0 {
				b.changes[i], found = r, true
				b.from, b.to = min(b.from, factorPlace(r.Low), factorPlace(r.Value)), max(b.to, factorPlace(r.High), factorPlace(r.Value))
			}
		}
		if found && b.to > b.from {
			return b, true
		}
	}
	return textBars{}, false
}

// factorPlace is the place of a ratio on a logarithmic scale.
func factorPlace(ratio float64) float64 {
	if !(ratio > 0) {
		ratio = 0
	}
	return math.Log(min(max(ratio, 1./farthestBar), farthestBar))
}

func (b textBars) at(ratio float64) int {
	return int(math.Round((factorPlace(ratio) - b.from) / (b.to - b.from) * float64(b.columns-1)))
}

// heading names the ends of the scale.
func (b textBars) heading() string {
	decimals := 0
	if b.to-b.from < 0.03 {
		decimals = 1
	}
	end := func(log float64) string {
		if v := math.Exp(log); v >= 10 {
			return factor(v)
		} else if text := signed(100*(v-1), decimals); text != "0" {
			return text + "%"
		}
		return "0"
	}
	left, right := end(b.from), end(b.to)
	return left + strings.Repeat(" ", max(b.columns-displayWidth(left)-displayWidth(right), 1)) + right
}

// bar draws one line; it is as wide as the column.
func (b textBars) bar(line int, color bool) string {
	cells := []rune(strings.Repeat(" ", b.columns))
	c, s := b.changes[line], dim
	if c != nil {
		s = styleOf(*c)
		if c.Level > 0 {
			for i := b.at(c.Low); i <= b.at(c.High); i++ {
				cells[i] = '─'
			}
		}
	}
	cells[b.at(1)] = '│'
	if c != nil {
		cells[b.at(c.Value)] = '●'
	}
	text := strings.TrimRight(string(cells), " ")
	return s.paint(color, text) + strings.Repeat(" ", b.columns-displayWidth(text))
}
