package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"nettoll/agent"
	"nettoll/internal/handlers"
	"nettoll/internal/keeper"
)

// agentCommand is what nettoll starts in every endpoint. It speaks frames on
// standard input and output and listens nowhere.
func (a *app) agentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "agent", Short: "Serve one endpoint of a measurement on standard input and output", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Equal(args, keeper.Args[1:]) {
				return nil
			}
			return usagef("the agent is started by nettoll itself, without arguments")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				os.Exit(keeper.Main()) // it has nothing to tidy up: it may be the first of its processes
			}
			if a.terminal {
				return usagef("nettoll starts the agent by itself; it is not meant to be run by hand")
			}
			// The agent ends when its input does, and not by a signal that was meant
			// for the process that started it.
			ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context()))
			defer cancel()
			err := agent.Serve(ctx, os.Stdin, a.stdout, handlers.All(ctx))
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
}
