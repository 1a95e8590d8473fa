package plot

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"nettoll/record"
)

// width of every chart in units of its view box. It is about that of a phone, so that
// letters keep their size there.
const width = 340 * vg.Length(1)

const letters = 12 * vg.Length(1)

// Chart can be drawn and written: into a page, or as a separate file.
type Chart struct {
	label  string // description in words
	height vg.Length
	paint  func(draw.Canvas)
	keys   []Key
}

// Key is an entry of a legend.
type Key struct {
	Name string
	Look Look
}

// Drawn reports whether the chart is not empty.
func (c Chart) Drawn() bool { return c.paint != nil }

// Label describes the chart in words.
func (c Chart) Label() string { return c.label }

// WithKeys adds a legend to the chart when written as a file; a page has its own.
func (c Chart) WithKeys(keys []Key) Chart {
	c.keys = keys
	return c
}

var (
	sentinel   = regexp.MustCompile(`#01FE([0-9A-F]{2})`)
	fontFamily = regexp.MustCompile(`font-family:[^;"]*;(font-variant:[^;"]*;)?(font-weight:[^;"]*;)?(font-style:[^;"]*;)?`)
	opening    = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)
	newlines   = regexp.MustCompile(`\n\t*`)
)

// Inline returns the chart as an SVG element for use within an HTML page, with the page's colours and font.
func (c Chart) Inline() (string, error) {
	if !c.Drawn() {
		return "", nil
	}
	inner, err := elements(c.height, c.paint, func(variable string) string { return "var(" + variable + ")" })
	return fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s" font-family="system-ui, sans-serif">`,
		width.Points(), c.height.Points(), html.EscapeString(c.label)) + inner, err
}

// elements returns the content of a canvas, and the end of its SVG element.
func elements(height vg.Length, paint func(draw.Canvas), written func(variable string) string) (string, error) {
	canvas := vgsvg.NewWith(vgsvg.UseWH(width, height))
	paint(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("plot: write svg: %w", err)
	}
	s := opening.ReplaceAllString(b.String(), "")
	s = fontFamily.ReplaceAllString(s, "")
	s = newlines.ReplaceAllString(s, " ")
	s = sentinel.ReplaceAllStringFunc(s, func(hex string) string {
		var r role
		fmt.Sscanf(hex[5:], "%X", &r)
		return r.declarations(written)
	})
	return strings.TrimSpace(s), nil
}

// margin is the white border of a separate chart.
const margin = 12 * vg.Length(1)

// WriteSVG writes the chart as a separate file, with a title, on white.
func (c Chart) WriteSVG(w io.Writer, title string) error {
	page := c.alone(title)
	light := Light()
	inner, err := elements(page.height, page.paint, func(variable string) string { return light[variable] })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="%g %g %g %g" width="%g" height="%g" role="img" aria-label="%s" font-family="system-ui, sans-serif">`+
		`<rect x="%[1]g" y="%[2]g" width="%[3]g" height="%[4]g" fill="#fff"/>%[8]s`+"\n",
		-margin.Points(), -margin.Points(), (width + 2*margin).Points(), (page.height + 2*margin).Points(),
		2*(width+2*margin).Points(), 2*(page.height+2*margin).Points(), html.EscapeString(clip(c.label, len(c.label))), inner)
	return err
}

// pngScale is the largest number of dots per unit of the view box, and mostDots the largest
// number of dots of a picture, at 4 bytes each.
const (
	pngScale = 3
	mostDots = 1 << 24
)

// WritePNG writes the chart as a picture, with a title, on white.
func (c Chart) WritePNG(w io.Writer, title string) error {
	page := c.alone(title)
	if _, err := (vgimg.PngCanvas{Canvas: page.picture(page.density())}).WriteTo(w); err != nil {
		return fmt.Errorf("plot: write png: %w", err)
	}
	return nil
}

// density returns the number of dots per unit in a picture.
func (c Chart) density() float64 {
	return min(pngScale, math.Sqrt(mostDots/((width+2*margin)*(c.height+2*margin)).Points()))
}

// picture paints the chart with scale dots per unit.
func (c Chart) picture(scale float64) *vgimg.Canvas {
	canvas := vgimg.NewWith(vgimg.UseWH(width+2*margin, c.height+2*margin), vgimg.UseDPI(max(1, int(72*scale))))
	c.paint(draw.Crop(draw.New(newPainter(canvas)), margin, -margin, margin, -margin))
	return canvas
}

// alone adds the title and legend that a page otherwise has around the chart.
func (c Chart) alone(title string) Chart {
	const line = 17
	above, below := vg.Length(0), vg.Length(0)
	lines := breakTitle(title)
	if title != "" {
		above = line*vg.Length(len(lines)) + 9
	}
	if len(c.keys) > 0 {
		below = line*vg.Length((len(c.keys)+keysAbreast-1)/keysAbreast) + 8
	}
	paint, height := c.paint, c.height
	c.height += above + below
	c.paint = func(canvas draw.Canvas) {
		s := style(text.Style{YAlign: text.YTop}, letters+1, roleText)
		for i, l := range lines {
			canvas.FillText(s, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y - line*vg.Length(i)}, l)
		}
		shorter := shortened(record.Each(c.keys, func(k Key) string { return k.Name }), 20)
		for i, k := range c.keys {
			at := vg.Point{X: canvas.Min.X + width/keysAbreast*vg.Length(i%keysAbreast), Y: canvas.Min.Y + below - 8 - line*(vg.Length(i/keysAbreast)+0.5)}
			canvas.StrokeLine2(k.Look.line(), at.X, at.Y, at.X+22, at.Y)
			write(canvas, letters-1, roleText, at.X+27, at.Y, shorter(k.Name))
		}
		if paint != nil {
			paint(draw.Crop(canvas, 0, 0, below, below-(c.height-height)))
		}
	}
	return c
}

const keysAbreast = 2

// breakTitle breaks a title at spaces if it is longer than the chart is wide.
func breakTitle(title string) []string {
	const most = 50
	var lines []string
	line := ""
	for _, word := range strings.Fields(title) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + clip(word, most))
	}
	return append(lines, line)
}

// empty returns a plot with the fonts and colours of all charts.
func empty() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle = style(text.Style{YAlign: text.YBottom}, letters-1, roleTick)
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

// ruled returns an empty plot with lines at its ticks.
func ruled() *plot.Plot {
	p := empty()
	grid := plotter.NewGrid()
	grid.Horizontal, grid.Vertical = gridLine, gridLine
	p.Add(grid)
	return p
}

// gridLine is a line of the grid, and nativeLine a line at the baseline's value.
var (
	gridLine   = draw.LineStyle{Color: roleGrid.color(), Width: 0.7}
	nativeLine = draw.LineStyle{Color: roleBarNative.color(), Width: 1, Dashes: []vg.Length{3, 3}}
)

// fill fills a rectangle.
func fill(c draw.Canvas, r role, left, bottom, right, top vg.Length) {
	c.SetColor(r.color())
	c.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top}}.Path())
}

// writeBelow writes the name of a tick below y.
func writeBelow(c draw.Canvas, x, y vg.Length, name string) {
	c.FillText(style(text.Style{YAlign: text.YTop}, letters-1, roleTick), vg.Point{X: x, Y: y}, name)
}

// write writes a line of text whose middle is at y.
func write(c draw.Canvas, size vg.Length, r role, x, y vg.Length, line string) {
	c.FillText(style(text.Style{YAlign: text.YCenter}, size, r), vg.Point{X: x, Y: y}, line)
}

func style(s text.Style, size vg.Length, r role) text.Style {
	s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	s.Color = r.color()
	s.Handler = plot.DefaultTextHandler
	return s
}
