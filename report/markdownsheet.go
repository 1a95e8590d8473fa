package report

import (
	"fmt"
	"strings"
)

func markdownSection(b *strings.Builder, s section, n *notes) {
	fmt.Fprintf(b, "\n## %s\n", markdown(s.title))
	if s.meta != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(s.meta))
	}
	if len(s.sayings) > 0 {
		b.WriteByte('\n')
	}
	for _, say := range s.sayings {
		fmt.Fprintf(b, "- **%s** %s\n", markdown(say.subject), markdown(say.text))
	}
	for _, sh := range s.sheets {
		if !sh.folded && !sh.long {
			markdownSheet(b, sh, n)
		}
	}
	if len(s.missing)+len(s.remarks) > 0 {
		b.WriteByte('\n')
	}
	for _, a := range s.missing {
		fmt.Fprintf(b, "- **%s** %s\n", markdown(a.network), markdown(a.text()))
	}
	for _, r := range s.remarks {
		fmt.Fprintf(b, "- %s\n", markdown(r))
	}
}

func markdownSheet(b *strings.Builder, s sheet, n *notes) {
	if s.title != "" {
		fmt.Fprintf(b, "\n### %s\n", markdown(s.title))
	}
	if s.note != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(s.note))
	}
	header, rule := "\n|", "|"
	for _, name := range s.stub {
		header += " " + markdown(name) + " |"
		rule += "---|"
	}
	for _, name := range s.columns {
		header += " " + markdown(name) + " |"
		rule += "---:|"
	}
	b.WriteString(header + "\n" + rule + "\n")
	for _, l := range s.lines {
		b.WriteString("|")
		for i, name := range l.names {
			b.WriteString(" " + markdown(strings.TrimSpace(name)))
			if i == 0 {
				b.WriteString(markdownMarks(l.marks, n))
			}
			b.WriteString(" |")
		}
		for _, c := range absentOnce(l.cells) {
			b.WriteString(" " + markdown(c.text()) + markdownMarks(c.marks, n) + " |")
		}
		b.WriteByte('\n')
	}
}
