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
func Charts(res analysis.Result) []Chart {
	var all []Chart
	names := map[string]int{}
	add := func(where string, figures []figure) {
		for _, f := range figures {
			all = append(all, newChartFile(where, f, names))
		}
	}
	d := newDocument(res)
	for _, s := range d.Groups {
		add(s.Title, s.figures())
		add(s.Title, s.group.overRounds())
	}
	for _, s := range d.Sections {
		if s.figures != nil {
			add(s.Title, s.figures())
		}
	}
	return all
}

func newChartFile(where string, f figure, names map[string]int) Chart {
	title := where + ". " + f.Title
	if f.Hint != "" {
		title += " (" + f.Hint + ")"
	}
	name := fileName(where + " " + f.Title)
	if names[name]++; names[name] > 1 {
		name += fmt.Sprintf("-%d", names[name])
	}
	chart := f.chart.WithKeys(f.Keys)
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
