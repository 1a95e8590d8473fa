package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nettoll/internal/origin"
	"nettoll/record"
)

// group is the annotation of a flag with the heading that help shows it under.
const group = "group"

// grouped puts the flags that are in no group yet into one.
func grouped(fl *pflag.FlagSet, title string) {
	fl.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[group] == nil {
			_ = fl.SetAnnotation(f.Name, group, []string{title})
		}
	})
}

// flagGroup is a set of flags with the heading above them.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups returns the flags of a command in their groups, in the order in which they were added.
func flagGroups(cmd *cobra.Command) (all []flagGroup) {
	at := map[string]int{}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		title := "Flags"
		if t := f.Annotations[group]; t != nil {
			title = t[0]
		}
		if _, known := at[title]; !known {
			at[title] = len(all)
			all = append(all, flagGroup{title, pflag.NewFlagSet(title, pflag.ContinueOnError)})
			all[at[title]].flags.SortFlags = false
		}
		all[at[title]].flags.AddFlag(f)
	})
	return all
}

// groupedUsage prints the usage of a command whose flags are in groups.
func (a *app) groupedUsage(cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	for _, g := range flagGroups(cmd) {
		width := 0
		if a.terminal {
			width = a.width()
		}
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(width))
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// manCommand writes the manual pages for a release. Their text is that of --help.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages into a folder", Hidden: true,
		Args: oneArg("man takes one folder, which the manual pages are written to, not %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return record.Try(described(cmd.Root()), func(c *cobra.Command) error {
				return os.WriteFile(filepath.Join(args[0], pageName(c)+".1"), []byte(manPage(c)), 0o644)
			})
		},
	}
}

// described returns a command and its subcommands that have a manual page. Completion has none: where the manual is
// installed, shells find the installed completions.
func described(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			all = append(all, described(c)...)
		}
	}
	return all
}

// pageName returns the name of a command's page, such as nettoll-suite-show.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the page of a command in the macros of man(7). Its date is that of the commit, so that the page
// does not depend on when it is written.
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
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(cmp.Or(cmd.Long, cmd.Short+".")))
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
	others := record.Those(described(cmd.Root()), func(c *cobra.Command) bool { return c != cmd })
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(record.Each(others, seeAlso), ",\n"))
	return b.String()
}

// seeAlso refers to the page of a command, without a line break.
func seeAlso(cmd *cobra.Command) string { return `.BR \%` + pageName(cmd) + " (1)" }

// option returns a flag with the description that --help has for it, including its default.
func option(f *pflag.Flag) string {
	one := pflag.NewFlagSet("", pflag.ContinueOnError)
	one.AddFlag(f)
	const gap = "  " // least space in help between a flag and its description
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

// paragraphs formats text whose paragraphs are separated by empty lines. Their lines are refilled, except in
// paragraphs with lines that begin with a space.
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

// roff escapes a text for the formatter: a hyphen becomes a minus sign, which can be copied into a shell, and no
// line is taken as a request.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
