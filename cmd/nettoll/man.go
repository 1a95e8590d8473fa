package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nettoll/internal/origin"
)

// manCommand writes the manual pages, which a release has. They say what --help says.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages into a folder", Hidden: true,
		Args: oneArg("man takes one folder, which the manual pages are written to, not %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, c := range described(cmd.Root()) {
				if err := os.WriteFile(filepath.Join(args[0], pageName(c)+".1"), []byte(manPage(c)), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// described is a command and those below it that have a manual page. Completions are not
// called by hand where the manual is installed: the shells find them there.
func described(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			all = append(all, described(c)...)
		}
	}
	return all
}

// pageName is the name of a command's page, such as nettoll-suite-show.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the page of a command in the macros of man(7). It has the date of the commit, so
// that it is the same whenever it is written.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	date := ""
	if t := origin.Time(); !t.IsZero() {
		date = t.Format("2006-01-02")
	}
	fmt.Fprintf(&b, ".TH %q 1 %q %q %q\n.ad l\n", strings.ToUpper(pageName(cmd)), date, "nettoll "+origin.Version(), "nettoll manual")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", pageName(cmd), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n")
	use := strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())
	if cmd.HasAvailableSubCommands() {
		use = " COMMAND [flags]"
	}
	fmt.Fprintf(&b, "\\fB%s\\fR%s\n", roff(cmd.CommandPath()), roff(use))
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(text))
	children := described(cmd)[1:]
	if len(children) > 0 {
		fmt.Fprintf(&b, ".SH COMMANDS\n")
		for _, c := range children {
			fmt.Fprintf(&b, ".TP\n%s\n%s.\n", seeAlso(c), roff(c.Short))
		}
	}
	fmt.Fprintf(&b, ".SH OPTIONS\n")
	groups := flagGroups(cmd)
	for _, g := range groups {
		if len(groups) > 1 {
			fmt.Fprintf(&b, ".SS %s\n", roff(g.title))
		}
		g.flags.VisitAll(func(f *pflag.Flag) { b.WriteString(option(f)) })
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.EX\n%s\n.EE\n", roff(strings.TrimRight(cmd.Example, "\n")))
	}
	var others []string
	for _, c := range described(cmd.Root()) {
		if c != cmd {
			others = append(others, seeAlso(c))
		}
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(others, ",\n"))
	return b.String()
}

// seeAlso names the page of a command, in one piece on its line.
func seeAlso(cmd *cobra.Command) string { return `.BR \%` + pageName(cmd) + " (1)" }

// option is a flag with the words that --help has for it, its default among them.
func option(f *pflag.Flag) string {
	one := pflag.NewFlagSet("", pflag.ContinueOnError)
	one.AddFlag(f)
	const gap = "  " // that help has between a flag and what it says of it, at least
	flag, says, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), gap)
	var names []string
	for name := range strings.SplitSeq(flag, ", ") {
		name, value, _ := strings.Cut(name, " ")
		name = `\fB` + roff(name) + `\fR`
		if value != "" {
			name += ` \fI` + roff(value) + `\fR`
		}
		names = append(names, name)
	}
	return fmt.Sprintf(".TP\n%s\n%s\n", strings.Join(names, ", "), roff(strings.TrimSpace(says)))
}

// paragraphs are texts between empty lines. Their lines are filled anew, but for those that
// begin with a space.
func paragraphs(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			fmt.Fprintf(&b, ".PP\n.EX\n%s\n.EE\n", roff(paragraph))
		} else {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(paragraph))
		}
	}
	return b.String()
}

// roff is a text as the formatter has to be told it: a hyphen is a minus sign, which can be
// copied into a shell, and no line is a request.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
