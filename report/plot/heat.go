package plot

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Matrix holds measurements over two axes.
type Matrix struct {
	RowTitle, ColumnTitle string
	Rows, Columns         []string
	Cells                 [][]HeatCell // by row and column
	Most                  float64      // the value with the strongest colour
}

// HeatCell is one cell of a matrix.
type HeatCell struct {
	Text  string
	Value float64
	Known bool
}

// Heat draws a matrix, each cell with its value; greater values have stronger colours.
func Heat(m Matrix, label string) Chart {
	if len(m.Rows) == 0 || len(m.Columns) == 0 {
		return Chart{}
	}
	const (
		above = 36 // titles and names of the columns
		tall  = 27
	)
	longest := 2
	for _, r := range m.Rows {
		longest = max(longest, len([]rune(clip(r, 12))))
	}
	left := vg.Length(7.2*float64(longest)) + 8
	wide := min((width-left)/vg.Length(len(m.Columns)), 64)
	height := above + tall*vg.Length(len(m.Rows)) + 2
	return Chart{label: label, height: height, paint: func(c draw.Canvas) {
		top := c.Max.Y
		write(c, letters-1, roleFaint, c.Min.X, top-8, clip(m.RowTitle, 24)+" ↓, "+clip(m.ColumnTitle, 28)+" →")
		for j, name := range m.Columns {
			write(c, letters-1, roleTick, c.Min.X+left+wide*(vg.Length(j)+0.5), top-26, clip(name, int(wide/6.5)))
		}
		for i, name := range m.Rows {
			y := top - above - tall*(vg.Length(i)+0.5)
			write(c, letters-1, roleTickLeft, c.Min.X+left-7, y, clip(name, 12))
			for j := range m.Columns {
				if i < len(m.Cells) && j < len(m.Cells[i]) {
					m.cell(c, m.Cells[i][j], vg.Point{X: c.Min.X + left + wide*vg.Length(j), Y: y}, wide, tall)
				}
			}
		}
	}}
}

// cell draws one cell, given the middle of its left side.
func (m Matrix) cell(c draw.Canvas, cell HeatCell, at vg.Point, wide, tall vg.Length) {
	r := roleTick
	if cell.Known {
		r = roleCell
		shade := 0
		if m.Most > 0 {
			shade = int(math.Round((shades - 1) * min(max(drawn(cell.Value)/drawn(m.Most), 0), 1)))
		}
		fill(c, roleHeat+role(shade), at.X+1, at.Y-tall/2+1, at.X+wide-1, at.Y+tall/2-1)
	}
	if wide >= 22 {
		write(c, letters, r, at.X+wide/2, at.Y, clip(cell.Text, max(int(wide/6), 2)))
	}
}
