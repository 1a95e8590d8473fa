package report

import (
	"io"
	"strings"
	"unicode"
)

// page collects the lines for a terminal.
type page struct {
	b      strings.Builder
	width  int
	color  bool
	narrow bool // some intervals have been left out
}

// writeText writes for a terminal: sentences first, then one table for each group of scenarios,
// then the caveats.
func writeText(w io.Writer, d document, o Options) error {
	res := d.res
	p := &page{width: o.Width, color: o.Color}
	if res.Run.Note != "" {
		p.paragraph("", bold, res.Run.Note)
		p.blank()
	}
	if d.empty() {
		p.paragraph("", plain, nothing)
		p.blank()
	}
	if d.Grade != "" {
		p.paragraph("", bold, d.Grade)
		p.blank()
	}
	for _, s := range d.withoutInner() {
		p.section(s)
	}
	p.footnotes(d.Findings)
	p.paragraph("", dim, "Measured on "+ranOn(res)+".")
	if run := wasRun(res); run != "" {
		p.paragraph("", dim, capital(run)+".")
	}
	p.paragraph("", dim, rounds(res)+" "+ending(res))
	for _, text := range append(remarks(res), legend(res, p.narrow), multiplicity(res)) {
		p.paragraph("", dim, text)
	}
	if p.color {
		p.paragraph("", dim, boldRemark)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) section(s *section) {
	p.paragraph("", bold, s.Title)
	p.paragraph("", dim, s.Meta)
	p.blank()
	for _, say := range s.Summary {
		p.paragraph("  ", plain, say.String())
	}
	if len(s.Summary) > 0 {
		p.blank()
	}
	for _, t := range s.Tables {
		switch {
		case t.results:
			p.results(t)
		case !t.Folded && !t.long:
			p.table(t)
		}
	}
	for _, a := range s.Missing {
		p.paragraph("  ", plain, a.Network+" "+a.text())
	}
	for _, r := range s.Remarks {
		p.paragraph("  ", dim, r)
	}
	if s.group != nil || len(s.Missing)+len(s.Remarks) > 0 {
		p.blank()
	}
}

func (p *page) footnotes(groups []noteGroup) {
	for _, g := range groups {
		p.paragraph("", dim, g.Title+":")
		for _, note := range g.Notes {
			p.paragraph(superscript([]int{note.Number})+" ", plain, note.Text)
		}
		for _, text := range g.OfRun {
			p.paragraph("! ", plain, text)
		}
	}
	if len(groups) > 0 {
		p.blank()
	}
}

func (p *page) blank() { p.b.WriteByte('\n') }

// paragraph writes text after a mark, wrapped and indented to its own beginning.
func (p *page) paragraph(mark string, s style, content string) {
	if content == "" {
		return
	}
	indent := displayWidth(mark)
	for i, l := range wrap(Printable(content), p.width-indent) {
		lead := mark
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		p.b.WriteString(lead + s.paint(p.color, l) + "\n")
	}
}

// wrap breaks at spaces, never at no-break spaces, and inside a word only if the word alone
// is too long. Without a width it does not break.
func wrap(content string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Split(content, " ") {
		for width > 0 && displayWidth(word) > width {
			if line != "" {
				lines = append(lines, line)
				line = ""
			}
			first := head(word, width)
			lines = append(lines, first)
			word = word[len(first):]
			if word == "" {
				break
			}
		}
		switch {
		case line == "":
			line = word
		case width > 0 && displayWidth(line)+1+displayWidth(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\u00a0", " ")
	}
	return lines
}

// Printable replaces characters that could move the cursor, colour the screen or change the
// direction of writing: names and reasons come from files and from other programs.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return seen(r)
	}, s)
}

// seen returns a character, or a dot in place of an invisible one.
func seen(r rune) rune {
	if r == '\u00a0' || unicode.IsPrint(r) {
		return r
	}
	return '·'
}

// style is an escape sequence.
type style string

const (
	plain style = ""
	bold  style = "\x1b[1m"
	dim   style = "\x1b[2m"
	red   style = "\x1b[31m"
	green style = "\x1b[32m"
)

func (s style) paint(color bool, content string) string {
	if !color || s == plain || content == "" {
		return content
	}
	return string(s) + content + "\x1b[0m"
}
