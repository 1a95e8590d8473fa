package report

import (
	"fmt"
	"io"
	"strings"

	"nettoll/analysis"
)

// writeMarkdown writes GitHub Markdown: sentences, a table for each group and what to doubt. Its own
// footnotes would stand in the order in which they are met, whatever they are about.
func writeMarkdown(w io.Writer, res analysis.Result, o Options) error {
	var b strings.Builder
	n := newNotes(res)
	fmt.Fprintf(&b, "# %s\n", markdown(heading(res)))
	if res.Run.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", markdown(res.Run.Note))
	}
	all := titled(apart(res))
	sections, err := sectionsOf(res, n)
	if err != nil {
		return err
	}
	if len(all)+len(sections) == 0 {
		b.WriteString("\nNothing was measured.\n")
	}
	if text := grade(res); text != "" {
		fmt.Fprintf(&b, "\n**%s**\n", markdown(text))
	}
	for _, g := range all {
		markdownGroup(&b, g, n)
	}
	for _, s := range sections {
		if !s.inner {
			markdownSection(&b, s, n)
		}
	}
	markdownDoubts(&b, n.groups(res))
	fmt.Fprintf(&b, "\n---\n\nMeasured on %s.", markdown(ranOn(res)))
	if run := wasRun(res); run != "" {
		fmt.Fprintf(&b, " %s.", markdown(capital(run)))
	}
	fmt.Fprintf(&b, "\n%s\n%s\n%s\n%s\n", rounds(res), markdown(ending(res)), legend(res), multiplicity(res))
	if anyLoops(res) {
		b.WriteString(loopRemark + "\n")
	}
	_, err = io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func markdownGroup(b *strings.Builder, g titledGroup, n *notes) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", markdown(g.name), markdown(g.measuredWith()))
	if sentences := g.summary(); len(sentences) > 0 {
		b.WriteByte('\n')
		for _, s := range sentences {
			fmt.Fprintf(b, "- %s\n", strings.TrimPrefix("**"+markdown(s.subject)+"** "+markdown(s.text), "**** "))
		}
	}
	header, rule := "\n| network |", "|---|"
	for _, c := range g.columns {
		header += fmt.Sprintf(" %s, %s |", g.heading(c), c.scale.unit)
		rule += "---:|"
		if g.compared(c) {
			header += fmt.Sprintf(" vs %s |", markdown(g.baseline()))
			rule += "---:|"
		}
	}
	b.WriteString(header + "\n" + rule + "\n")
	for _, l := range g.lines {
		b.WriteString("| " + markdown(l.name) + markdownMarks(n.marks(l), n) + " |")
		for _, c := range g.columns {
			markdownCell(b, g.group, l, c)
		}
		b.WriteByte('\n')
	}
	if missing := g.absences(); len(missing) > 0 {
		b.WriteByte('\n')
		for _, a := range missing {
			fmt.Fprintf(b, "- **%s** %s\n", markdown(a.network), markdown(a.text()))
		}
	}
}

// markdownMarks are the numbers of doubts, each a link to the heading below which it stands.
func markdownMarks(marks []int, n *notes) string {
	text := ""
	for _, mark := range marks {
		text += fmt.Sprintf(" [%s](#%s)", superscript([]int{mark}), n.groupOf(mark))
	}
	return text
}

func markdownDoubts(b *strings.Builder, groups []noteGroup) {
	if len(groups) > 0 {
		b.WriteString("\n## What to doubt\n")
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

func markdownCell(b *strings.Builder, g group, l line, c column) {
	f, ok := l.figure(c)
	if !ok {
		fmt.Fprintf(b, " %s |", absentText(l.rows[c.scenario]))
		if g.compared(c) {
			b.WriteString("  |")
		}
		return
	}
	fmt.Fprintf(b, " %s %s |", c.scale.number(f.Summary.Estimate), spread(c.scale, f.Summary))
	shows, ends, compared := compared(c.scale, f)
	switch {
	case compared != nil:
		fmt.Fprintf(b, " %s |", strings.TrimSpace(markdown(shows)+" "+ends))
	case g.compared(c):
		b.WriteString("  |")
	}
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`,
	"#", `\#`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "\n", " ", "@", "@\u200b", "://", ":\u200b//",
)

// markdown escapes what Markdown or HTML would take for markup, a mention of
// a person or a link.
func markdown(s string) string { return markdownEscapes.Replace(printable(s)) }
