package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"nettoll/analysis"
)

// Chart is a chart of a report that can be written as a file of its own.
type Chart struct {
	Name  string // of a file, without its ending
	Title string
	SVG   func(io.Writer) error
	PNG   func(io.Writer) error
}

// Charts lists every chart of a report in the order of its page, for a light
// background.
func Charts(res analysis.Result, o Options) ([]Chart, error) {
	var all []Chart
	parts, err := chartsOf(res, o)
	names := map[string]int{}
	for _, p := range parts {
		all = append(all, newChartFile(p.where, p.figure, names))
	}
	return all, err
}

// placed is a figure and the title of the part of the report that it stands in.
type placed struct {
	where string
	figure
}

func chartsOf(res analysis.Result, o Options) ([]placed, error) {
	var all []placed
	looks := newLooks(res)
	for _, g := range titled(apart(res)) {
		figures, err := g.figures(looks)
		if err != nil {
			return nil, err
		}
		for _, f := range append(figures, g.overRounds()...) {
			all = append(all, placed{g.name, f})
		}
	}
	sections, err := sectionsOf(res, &notes{})
	for _, s := range sections {
		for _, f := range s.figures {
			all = append(all, placed{s.title, f})
		}
	}
	return all, err
}

func newChartFile(where string, f figure, names map[string]int) Chart {
	title := where + ". " + f.title
	if f.hint != "" {
		title += " (" + f.hint + ")"
	}
	name := fileName(where + " " + f.title)
	if names[name]++; names[name] > 1 {
		name += fmt.Sprintf("-%d", names[name])
	}
	chart := f.chart.WithKeys(f.keys)
	return Chart{
		Name: name, Title: title,
		SVG: func(w io.Writer) error { return chart.WriteSVG(w, printable(title)) },
		PNG: func(w io.Writer) error { return chart.WritePNG(w, printable(title)) },
	}
}

// fileName makes a name of small letters, digits and dashes, not too long. Microseconds are us.
func fileName(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(strings.ToLower(s), "µ", "u") {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	if len(name) > 100 {
		name = strings.Trim(name[:100], "-")
	}
	if name == "" {
		return "chart"
	}
	return name
}
