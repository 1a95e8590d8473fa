package main

import (
	"io"

	"github.com/spf13/cobra"

	"nettoll/plan"
)

func (a *app) suiteCommand() *cobra.Command {
	show := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Print a suite with all its settings, as a file for run --suite",
		Example: `  nettoll suite show quick
  nettoll suite show full >mine.yaml`,
		Args: oneArg("suite show takes one suite, not %d; nettoll list suites shows those that are built in"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return plan.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := loadSuite("suite", args[0])
			if err != nil {
				return err
			}
			text, err := s.YAML()
			if err == nil {
				_, err = io.WriteString(a.stdout, text)
			}
			return err
		},
	}
	suite := &cobra.Command{
		Use:   "suite show NAME|FILE",
		Short: "Show a suite",
		Args: func(*cobra.Command, []string) error {
			return usagef("suite what? write for example: nettoll suite show %s", plan.DefaultSuite)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	suite.AddCommand(show)
	return suite
}
