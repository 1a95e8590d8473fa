package plot

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// role is a colour chosen by the page.
type role uint8

// Roles other than the colours of networks; those start at roleLine.
const (
	roleText role = iota + 1
	roleFaint
	roleGrid
	roleBar
	roleBarPale
	roleBarNative
	roleInterval
	roleName
	roleTick
	roleTickLeft
	roleCell
	roleLine
	roleBand = roleLine + Lines // the interval around a line
	roleHeat = roleBand + Lines // from pale to strong
)

// Lines is the number of line colours that a page must define: --line-0 for native and
// --line-1 and up for the others.
const Lines = 8

// shades is the number of steps of a heatmap. The strongest leaves text readable.
const (
	shades     = 16
	mostShade  = 0.62
	leastShade = 0.04
	bandShade  = 0.16
)

// variables names the CSS variable for each role.
var variables = map[role]string{
	roleText:      "--text",
	roleFaint:     "--faint",
	roleGrid:      "--grid",
	roleBar:       "--bar",
	roleBarPale:   "--bar-pale",
	roleBarNative: "--bar-native",
	roleInterval:  "--interval",
}

// Light returns the variables for white paper, for separate charts.
func Light() map[string]string {
	return map[string]string{
		"--text": "#1d232a", "--faint": "#59636e", "--grid": "#e4e7ea",
		"--bar": "#4f86bf", "--bar-pale": "#b4cce4", "--bar-native": "#858d96", "--interval": "#16202b",
		"--line-0": "#4a525b", "--line-1": "#0072b2", "--line-2": "#d55e00", "--line-3": "#008a65",
		"--line-4": "#b8578f", "--line-5": "#c08400", "--line-6": "#2f8fc7", "--line-7": "#7a5bb0",
	}
}

// hanging is a text that is aligned at its end or middle. The plot library would place its
// beginning by the widths of its own font, which is not the font of the page. Such text is
// measured larger than it is, to leave room for a wide font.
type hanging struct {
	color  role
	anchor string // as in text-anchor
	size   float64
}

var anchored = map[role]hanging{
	roleName:     {roleText, "end", letters.Points()},
	roleTick:     {roleFaint, "middle", (letters - 1).Points()},
	roleTickLeft: {roleFaint, "end", (letters - 1).Points()},
	roleCell:     {roleText, "middle", letters.Points()},
}

const measured = letters * 1.2

// color returns the placeholder for a role until the chart is written. Charts use such colours for nothing else.
func (r role) color() color.Color { return color.RGBA{R: 1, G: 254, B: uint8(r), A: 255} }

// roleOf returns the role for which a colour is the placeholder.
func roleOf(c color.Color) (role, bool) {
	v, ok := c.(color.RGBA)
	if !ok || v.R != 1 || v.G != 254 {
		return 0, false
	}
	return role(v.B), true
}

// variable returns the CSS variable of a role and its opacity.
func (r role) variable() (name string, opacity float64) {
	switch {
	case r >= roleHeat:
		return variables[roleBar], leastShade + (mostShade-leastShade)*float64(r-roleHeat)/(shades-1)
	case r >= roleBand:
		return fmt.Sprintf("--line-%d", r-roleBand), bandShade
	case r >= roleLine:
		return fmt.Sprintf("--line-%d", r-roleLine), 1
	}
	if h, ok := anchored[r]; ok {
		r = h.color
	}
	return variables[r], 1
}

// declarations returns the style declarations for a role, where written formats a variable.
func (r role) declarations(written func(variable string) string) string {
	name, opacity := r.variable()
	text := written(name)
	if opacity < 1 {
		text += fmt.Sprintf(";fill-opacity:%.3g", opacity)
	}
	if h, ok := anchored[r]; ok {
		text += fmt.Sprintf(";text-anchor:%s;font-size:%gpx", h.anchor, h.size)
	}
	return text
}

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

// Pop restores the state saved by Push.
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

// parseHex reads a colour, for example #1d232a.
func parseHex(s string) color.NRGBA {
	c := color.NRGBA{A: 255}
	fmt.Sscanf(s, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}
