package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/handlers"
	"nettoll/internal/keeper"
)

// agentCommand is the program that nettoll starts in every endpoint. It speaks frames on standard input and output
// and does not listen on any socket.
func (a *app) agentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "agent", Short: "Serve one endpoint of a measurement on standard input and output", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Equal(args, keeper.Args[1:]) || injected(args) {
				return nil
			}
			return usagef("the agent is started by nettoll itself, without arguments")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if injected(args) {
				return bootstrap.Serve(args[1], os.Stdin, a.stdout, handlers.All)
			}
			if len(args) > 0 {
				os.Exit(keeper.Main()) // nothing to clean up here: this may be the first of its processes
			}
			if a.terminal {
				return usagef("nettoll starts the agent by itself; it is not meant to be run by hand")
			}
			// The agent ends when its input does, and not by a signal that was meant for the process that started
			// it.
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

// injected reports whether these are the arguments of an agent on another machine.
func injected(args []string) bool {
	return bootstrap.IsAgent(slices.Concat([]string{"agent"}, args))
}
