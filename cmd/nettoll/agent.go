package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"nettoll/agent"
	"nettoll/internal/handlers"
)

// agentCommand is what nettoll starts in every endpoint. It speaks frames on
// standard input and output and listens nowhere.
func (a *app) agentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "agent", Short: "Serve one endpoint of a measurement on standard input and output", Hidden: true,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.terminal {
				return usagef("the agent is started by nettoll itself; it has nothing to say to a person")
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
