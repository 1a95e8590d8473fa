package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// group is the annotation of a flag that says under which heading help shows it.
const group = "group"

// grouped puts the flags that are in no group yet into one.
func grouped(fl *pflag.FlagSet, title string) {
	fl.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[group] == nil {
			_ = fl.SetAnnotation(f.Name, group, []string{title})
		}
	})
}

// flagGroup is flags with the heading above them.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups are the flags of a command in their groups, in the order in which they were added.
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

// groupedUsage is the usage of a command whose flags are in groups.
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
