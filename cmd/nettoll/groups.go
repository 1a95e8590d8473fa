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

// groupedUsage is the usage of a command whose flags are in groups, in the order in which they
// were added.
func (a *app) groupedUsage(cmd *cobra.Command) error {
	var titles []string
	sets := map[string]*pflag.FlagSet{}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		title := "Flags"
		if t := f.Annotations[group]; t != nil {
			title = t[0]
		}
		if sets[title] == nil {
			titles, sets[title] = append(titles, title), pflag.NewFlagSet(title, pflag.ContinueOnError)
			sets[title].SortFlags = false
		}
		sets[title].AddFlag(f)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	for _, title := range titles {
		width := 0
		if a.terminal {
			width = a.width()
		}
		fmt.Fprintf(&b, "\n%s:\n%s", title, sets[title].FlagUsagesWrapped(width))
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}
