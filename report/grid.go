package report

import (
	"regexp"
	"strings"

	"github.com/rivo/uniseg"
)

// gap separates the columns of a grid.
const gap = "   "

// grid lays out columns: the first ones flush left, the others flush right, with a rule
// below the heading.
type grid struct {
	heading [][]string // lines of cells
	body    [][]string
	stub    int // columns that are flush left; 0 is one
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// displayWidth is how many columns of a terminal a text fills.
func displayWidth(s string) int {
	return uniseg.StringWidth(escapes.ReplaceAllString(s, ""))
}

func (g grid) widths() []int {
	var widths []int
	for _, cells := range append(g.heading[:len(g.heading):len(g.heading)], g.body...) {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displayWidth(cell))
		}
	}
	return widths
}

func (g grid) width() int {
	total := 0
	for i, w := range g.widths() {
		if i > 0 {
			total += len(gap)
		}
		total += w
	}
	return total
}

func (g grid) String() string {
	var b strings.Builder
	widths := g.widths()
	write := func(cells []string) {
		var l strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-displayWidth(cell))
			switch {
			case i == 0:
				l.WriteString(cell + pad)
			case i < g.stub:
				l.WriteString(gap + cell + pad)
			default:
				l.WriteString(gap + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	for _, cells := range g.heading {
		write(cells)
	}
	b.WriteString(strings.Repeat("─", g.width()) + "\n")
	for _, cells := range g.body {
		write(cells)
	}
	return b.String()
}

// cut shortens a text to so many columns, with a mark that something is missing.
func cut(s string, width int) string {
	if displayWidth(s) <= width {
		return s
	}
	return strings.TrimRight(head(s, width-1), " ") + "…"
}

// head is as much of the beginning of a text as fits, at least one character.
func head(s string, width int) string {
	end, state := 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end > 0 && w > width {
			break
		}
		end += len(cluster)
		width -= w
	}
	return s[:end]
}
