package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nettoll/internal/origin"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, the commit and the version of Go", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "nettoll %s\n", origin.Text())
			return err
		},
	}
}
