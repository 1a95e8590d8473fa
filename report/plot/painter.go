package plot

import (
	"image/color"
	"strconv"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// painter gives roles their colours and aligns texts, for canvases without CSS.
type painter struct {
	vg.CanvasSizer
	now   role
	stack []role
	light map[string]string
}

func newPainter(c vg.CanvasSizer) *painter { return &painter{CanvasSizer: c, light: Light()} }

// Push saves the role with the rest of the canvas's state.
func (p *painter) Push() {
	p.stack = append(p.stack, p.now)
	p.CanvasSizer.Push()
}

// Pop restores what Push saved.
func (p *painter) Pop() {
	if last := len(p.stack) - 1; last >= 0 {
		p.now, p.stack = p.stack[last], p.stack[:last]
	}
	p.CanvasSizer.Pop()
}

// SetColor sets the colour of a role.
func (p *painter) SetColor(c color.Color) {
	r, ok := roleOf(c)
	if !ok {
		p.now = 0
		p.CanvasSizer.SetColor(c)
		return
	}
	p.now = r
	name, opacity := r.variable()
	shade := parseHex(p.light[name])
	shade.A = uint8(255*opacity + 0.5)
	p.CanvasSizer.SetColor(shade)
}

// FillString writes a text in the size and with the alignment of its role.
func (p *painter) FillString(f font.Face, at vg.Point, text string) {
	if h, ok := anchored[p.now]; ok {
		f.Font.Size = vg.Length(h.size)
		switch h.anchor {
		case "end":
			at.X -= f.Width(text)
		case "middle":
			at.X -= f.Width(text) / 2
		}
	}
	p.CanvasSizer.FillString(f, at, text)
}

// parseHex reads a colour such as #1d232a.
func parseHex(s string) color.NRGBA {
	if len(s) != 7 {
		return color.NRGBA{A: 255}
	}
	v, err := strconv.ParseUint(s[1:], 16, 32)
	if err != nil {
		return color.NRGBA{A: 255}
	}
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
}
