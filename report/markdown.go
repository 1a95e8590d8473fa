package report

import (
	"fmt"
	"io"
	"strings"
)

// writeMarkdown writes GitHub Markdown: sentences, a table for each group and the doubts. GitHub's
// own footnotes are not used: they appear in the order of reference and cannot be grouped.
func writeMarkdown(w io.Writer, d document, _ Options) error {
	res := d.res
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", markdown(d.Heading))
	if res.Run.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", markdown(res.Run.Note))
	}
	if d.empty() {
		b.WriteString("\n" + nothing + "\n")
	}
	if d.Grade != "" {
		fmt.Fprintf(&b, "\n**%s**\n", markdown(d.Grade))
	}
	for _, s := range d.withoutInner() {
		markdownSection(&b, s, d.notes)
	}
	markdownDoubts(&b, d.Findings)
	fmt.Fprintf(&b, "\n---\n\nMeasured on %s.", markdown(ranOn(res)))
	if run := wasRun(res); run != "" {
		fmt.Fprintf(&b, " %s.", markdown(capital(run)))
	}
	fmt.Fprintf(&b, "\n%s\n%s\n%s\n%s\n", markdown(rounds(res)), markdown(ending(res)), legend(res, false), multiplicity(res))
	for _, text := range remarks(res) {
		b.WriteString(text + "\n")
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func markdownSection(b *strings.Builder, s *section, n *notes) {
	fmt.Fprintf(b, "\n## %s\n", markdown(s.Title))
	if s.Meta != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(s.Meta))
	}
	if len(s.Summary) > 0 {
		b.WriteByte('\n')
	}
	for _, say := range s.Summary {
		fmt.Fprintf(b, "- %s\n", strings.TrimPrefix("**"+markdown(say.Subject)+"** "+markdown(say.Text), "**** "))
	}
	for _, t := range s.Tables {
		if !t.Folded && !t.long {
			markdownTable(b, t, n)
		}
	}
	if len(s.Missing)+len(s.Remarks) > 0 {
		b.WriteByte('\n')
	}
	for _, a := range s.Missing {
		fmt.Fprintf(b, "- **%s** %s\n", markdown(a.Network), markdown(a.text()))
	}
	for _, r := range s.Remarks {
		fmt.Fprintf(b, "- %s\n", markdown(r))
	}
}

func markdownTable(b *strings.Builder, t table, n *notes) {
	if t.Title != "" {
		fmt.Fprintf(b, "\n### %s\n", markdown(t.Title))
	}
	if t.Note != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(t.Note))
	}
	header, rule := "\n|", "|"
	for _, name := range t.Stub {
		header += " " + markdown(name) + " |"
		rule += "---|"
	}
	for _, c := range t.Columns {
		title := c.Title
		if t.results {
			title += ", " + c.Unit
		}
		header += " " + markdown(title) + " |"
		rule += "---:|"
		if c.Baseline != "" {
			header += fmt.Sprintf(" vs %s |", markdown(c.Baseline))
			rule += "---:|"
		}
	}
	b.WriteString(header + "\n" + rule + "\n")
	for _, l := range t.Lines {
		b.WriteString("|")
		for i, name := range l.Names {
			b.WriteString(" " + markdown(strings.TrimSpace(name)))
			if i == 0 {
				b.WriteString(markdownMarks(l.Marks, n))
			}
			b.WriteString(" |")
		}
		cells := l.Cells
		if !t.results {
			cells = l.Once()
		}
		for i, c := range cells {
			b.WriteString(" " + markdown(c.text()) + markdownMarks(c.Marks, n) + " |")
			if t.Columns[i].Baseline != "" {
				b.WriteString(" " + markdown(strings.TrimSpace(c.Change+" "+c.Ends)) + " |")
			}
		}
		b.WriteByte('\n')
	}
}

// markdownMarks returns the numbers of doubts, each a link to its heading.
func markdownMarks(marks []int, n *notes) string {
	text := ""
	for _, mark := range marks {
		text += fmt.Sprintf(" [%s](#%s)", superscript([]int{mark}), n.groupOf(mark))
	}
	return text
}

func markdownDoubts(b *strings.Builder, groups []noteGroup) {
	if len(groups) > 0 {
		b.WriteString("\n## Caveats\n")
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n### %s\n\n", g.Title)
		for _, note := range g.Notes {
			fmt.Fprintf(b, "%d. %s\n", note.Number, markdown(note.Text))
		}
		for _, text := range g.OfRun {
			fmt.Fprintf(b, "- %s\n", markdown(text))
		}
	}
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`,
	"#", `\#`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "\n", " ", "@", "@\u200b", "://", ":\u200b//",
)

// markdown escapes text that Markdown or HTML would take for markup, a mention of a person or a link.
func markdown(s string) string { return markdownEscapes.Replace(Printable(s)) }
