// Package plot draws the charts of a report as SVG that takes its colours and
// its font from the page it stands in, and its size from the room it is given.
package plot

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// width of every chart in units of its view box. It is about what a phone
// has, so that letters keep their size there.
const width = 340 * vg.Length(1)

const letters = 12 * vg.Length(1)

// role is a colour that the page chooses.
type role uint8

// Roles that are not a line's own colour; the lines follow after roleLine.
const (
	roleText role = iota + 1
	roleFaint
	roleGrid
	roleBar
	roleBarSame
	roleBarNative
	roleInterval
	roleName
	roleTick
	roleTickLeft
	roleLine
)

// variables names the CSS variable for each role.
var variables = map[role]string{
	roleText:      "--text",
	roleFaint:     "--faint",
	roleGrid:      "--grid",
	roleBar:       "--bar",
	roleBarSame:   "--bar-same",
	roleBarNative: "--bar-native",
	roleInterval:  "--interval",
}

// anchored are texts that hang from their end or middle. The plot library
// would place their beginning by the widths of its own font, which is not the
// font of the page; they are measured larger than they are, to leave room for
// a wide one.
var anchored = map[role]string{
	roleName:     fmt.Sprintf("var(--text);text-anchor:end;font-size:%gpx", letters.Points()),
	roleTick:     fmt.Sprintf("var(--faint);text-anchor:middle;font-size:%gpx", (letters - 1).Points()),
	roleTickLeft: fmt.Sprintf("var(--faint);text-anchor:end;font-size:%gpx", (letters - 1).Points()),
}

const measured = letters * 1.2

// Lines is how many line colours a page must define: --line-0 for native and
// from --line-1 on for the others.
const Lines = 8

// color of a role stands in for it until the SVG is written: no chart uses
// such a colour for itself.
func (r role) color() color.Color { return color.RGBA{R: 1, G: 254, B: uint8(r), A: 255} }

var (
	sentinel   = regexp.MustCompile(`#01FE([0-9A-F]{2})`)
	fontFamily = regexp.MustCompile(`font-family:[^;"]*;(font-variant:[^;"]*;)?(font-weight:[^;"]*;)?(font-style:[^;"]*;)?`)
	opening    = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)
	newlines   = regexp.MustCompile(`\n\t*`)
)

// render draws a plot as an SVG element for use within an HTML page.
func render(p *plot.Plot, height vg.Length, label string) (string, error) {
	c := vgsvg.NewWith(vgsvg.UseWH(width, height))
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", fmt.Errorf("plot: write svg: %w", err)
	}
	s := opening.ReplaceAllString(b.String(), "")
	s = fontFamily.ReplaceAllString(s, "")
	s = newlines.ReplaceAllString(s, " ")
	s = sentinel.ReplaceAllStringFunc(s, func(hex string) string {
		var r role
		fmt.Sscanf(hex[5:], "%X", &r)
		if name, ok := variables[r]; ok {
			return "var(" + name + ")"
		}
		if declarations, ok := anchored[r]; ok {
			return declarations
		}
		return fmt.Sprintf("var(--line-%d)", r-roleLine)
	})
	return fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s" font-family="system-ui, sans-serif">`,
		width.Points(), height.Points(), html.EscapeString(label)) + strings.TrimSpace(s), nil
}

// empty is a plot with the fonts and colours of all charts.
func empty() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle = style(axis.Label.TextStyle, letters-1, roleFaint)
		axis.LineStyle.Color = roleGrid.color()
		axis.Tick.LineStyle.Color = roleGrid.color()
		axis.Padding = 0
		axis.LineStyle.Width = 0
		axis.Tick.Length = 0
	}
	p.X.Tick.Label = style(text.Style{YAlign: text.YTop}, letters, roleTick)
	p.Y.Tick.Label = style(text.Style{YAlign: text.YCenter}, measured, roleTickLeft)
	return p
}

func style(s text.Style, size vg.Length, r role) text.Style {
	s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	s.Color = r.color()
	s.Handler = plot.DefaultTextHandler
	return s
}

func dashes(lengths ...vg.Length) []vg.Length { return lengths }
