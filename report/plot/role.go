package plot

import (
	"fmt"
	"image/color"
)

// role is a colour that the page chooses.
type role uint8

// Roles that are not a network's own colour; those follow after roleLine.
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

// Lines is how many line colours a page must define: --line-0 for native and
// from --line-1 on for the others.
const Lines = 8

// shades is how many steps a heatmap has. The strongest leaves text readable.
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

// Light is what the variables are on white paper, for charts that stand alone.
func Light() map[string]string {
	return map[string]string{
		"--text": "#1d232a", "--faint": "#59636e", "--grid": "#e4e7ea",
		"--bar": "#4f86bf", "--bar-pale": "#b4cce4", "--bar-native": "#858d96", "--interval": "#16202b",
		"--line-0": "#4a525b", "--line-1": "#0072b2", "--line-2": "#d55e00", "--line-3": "#008a65",
		"--line-4": "#b8578f", "--line-5": "#c08400", "--line-6": "#2f8fc7", "--line-7": "#7a5bb0",
	}
}

// hanging is a text that is aligned at its end or middle. The plot library would
// place its beginning by the widths of its own font, which is not the font of
// the page. Such text is measured larger than it is, to leave room for a wide font.
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

// color is a placeholder for a role until the chart is written. No chart uses such
// a colour otherwise.
func (r role) color() color.Color { return color.RGBA{R: 1, G: 254, B: uint8(r), A: 255} }

// roleOf is the role that a colour stands in for.
func roleOf(c color.Color) (role, bool) {
	v, ok := c.(color.RGBA)
	if !ok || v.R != 1 || v.G != 254 {
		return 0, false
	}
	return role(v.B), true
}

// variable is the CSS variable of a role and its opacity.
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

// declarations are what stands in a style attribute for a role, given how a
// variable is written.
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
