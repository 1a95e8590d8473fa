package report

import (
	"slices"
	"strings"
)

// section writes a section for a terminal.
func (p *page) section(s section) {
	p.paragraph("", bold, s.title)
	p.paragraph("", dim, s.meta)
	p.blank()
	for _, say := range s.sayings {
		p.paragraph("  ", plain, say.String())
	}
	if len(s.sayings) > 0 {
		p.blank()
	}
	for _, sh := range s.sheets {
		if !sh.folded && !sh.long {
			p.sheet(sh)
		}
	}
	for _, a := range s.missing {
		p.paragraph("  ", plain, a.network+" "+a.text())
	}
	for _, r := range s.remarks {
		p.paragraph("  ", dim, r)
	}
	if len(s.missing)+len(s.remarks) > 0 {
		p.blank()
	}
}

// sheet writes a table, in as many pieces as its columns need.
func (p *page) sheet(s sheet) {
	if s.title != "" {
		p.paragraph("", plain, s.title)
	}
	p.paragraph("", dim, s.note)
	if len(s.columns) == 0 {
		return
	}
	most := 1
	for from := 0; from < len(s.columns); {
		_, to := s.piece(from, len(s.columns), p.width, false)
		most = max(most, to-from)
		from = to
	}
	// Pieces of one length look like one table.
	pieces := (len(s.columns) + most - 1) / most
	each := (len(s.columns) + pieces - 1) / pieces
	for from := 0; from < len(s.columns); {
		g, to := s.piece(from, min(from+each, len(s.columns)), p.width, p.color)
		p.b.WriteString(g.String())
		p.blank()
		from = to
	}
}

// piece is as many columns as fit, from one on and up to another; at least one.
func (s sheet) piece(from, to, width int, color bool) (grid, int) {
	if width > 0 { // from below: a sweep can have thousands of columns
		fit := from + 1
		for fit < to && s.grid(from, fit+1, true, 0, false).width() <= width {
			fit++
		}
		to = fit
	}
	spread, names := true, 0
	if width > 0 && s.grid(from, to, true, 0, false).width() > width {
		spread = false
		if over := s.grid(from, to, false, 0, false).width() - width; over > 0 {
			names = max(s.longestName()-over, 4)
		}
	}
	return s.grid(from, to, spread, names, color), to
}

func (s sheet) longestName() int {
	longest := 0
	for _, l := range s.lines {
		longest = max(longest, displayWidth(l.names[0]))
	}
	return longest
}

// grid sets some of the columns, with or without intervals, names cut to a
// width where one is given.
func (s sheet) grid(from, to int, spread bool, names int, color bool) grid {
	s.lines = slices.Clone(s.lines)
	for i, l := range s.lines {
		s.lines[i].cells = absentOnce(l.cells[from:to])
	}
	heading := make([]string, 0, len(s.stub)+to-from)
	for _, name := range s.stub {
		heading = append(heading, dim.paint(color, name))
	}
	body := make([][]string, len(s.lines))
	for i, l := range s.lines {
		for j, name := range l.names {
			name = printable(name)
			if j == 0 && len(l.marks) > 0 {
				name += " " + superscript(l.marks)
			}
			if j == 0 && names > 0 {
				name = cut(name, names)
			}
			body[i] = append(body[i], name)
		}
	}
	for c := from; c < to; c++ {
		heading = append(heading, bold.paint(color, printable(s.columns[c])))
		for i, cell := range s.column(c-from, spread, color) {
			body[i] = append(body[i], cell)
		}
	}
	return grid{heading: [][]string{heading}, body: body, stub: len(s.stub)}
}

// column aligns values at their points and intervals at their ends.
func (s sheet) column(c int, spread, color bool) []string {
	decimals, widest, spreads := 0, 0, 0
	for _, l := range s.lines {
		decimals = max(decimals, behindPoint(numberPart(l.cells[c].value)))
	}
	texts := make([]string, len(s.lines))
	for i, l := range s.lines {
		texts[i] = printable(l.cells[c].value)
		if len(l.cells[c].marks) > 0 {
			texts[i] += " " + superscript(l.cells[c].marks)
		}
		if n := numberPart(l.cells[c].value); n != "" {
			texts[i] += strings.Repeat(" ", decimals-behindPoint(n))
		}
		if l.cells[c].class != "absent" {
			widest, spreads = max(widest, displayWidth(texts[i])), max(spreads, displayWidth(l.cells[c].spread))
		}
	}
	cells := make([]string, len(s.lines))
	for i, l := range s.lines {
		cell := l.cells[c]
		cells[i] = strings.Repeat(" ", max(widest-displayWidth(texts[i]), 0)) + cell.style().paint(color, texts[i])
		if spread && spreads > 0 && cell.class != "absent" {
			cells[i] += strings.Repeat(" ", spreads-displayWidth(cell.spread)+1) + dim.paint(color, cell.spread)
		}
	}
	return cells
}

// numberPart is a text that is a plain number, or nothing.
func numberPart(s string) string {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return ""
	}
	return s
}
