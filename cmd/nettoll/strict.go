package main

import (
	"slices"

	"github.com/spf13/cobra"

	"nettoll/plan"
)

// strict makes the commands that cobra brings refuse what they do not know.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return unknownCommand(args[len(args)-1])
				}
				return nil
			}
		case "completion":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if len(args) == 0 {
					return nil
				}
				return usagef("no completion for %q; there is bash, zsh, fish and powershell", args[0])
			}
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Args = noArgs
			}
		}
	}
}

func unknownCommand(name string) error {
	known := []string{"run", "list", "doctor", "report", "lab", "clean", "suite", "version", "completion", "help"}
	hint := nearest(name, known)
	if networks := slices.Concat(networkNames(), wholeNames(), platformNames()); hint == "" && (slices.Contains(networks, name) || len(plan.Variants(name, networks)) > 0) {
		hint = "; did you mean nettoll run " + name + "?"
	}
	return usagef("unknown command %q%s; see nettoll --help", name, hint)
}
