package handlers

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/keeper"
)

// ErrByHand is returned to a person who starts an agent at a terminal.
var ErrByHand = errors.New("nettoll starts the agent by itself; it is not meant to be run by hand")

// IsAgent reports whether these are arguments with which a program of nettoll starts another one as an agent, or as a keeper.
func IsAgent(args []string) bool {
	_, watched := bootstrap.IsWatched(args)
	return slices.Equal(args, []string{"agent"}) || slices.Equal(args, keeper.Args) || bootstrap.IsAgent(args) || watched
}

// Main is an agent that was started with such arguments: it speaks frames on its input and output, does not listen on any socket,
// and ends when its input does. nettoll and nettoll-agent catch signals, which are meant for the process that started them.
func Main(args []string, terminal bool, in io.Reader, out io.Writer) error {
	switch {
	case slices.Equal(args, keeper.Args):
		os.Exit(keeper.Main()) // nothing to clean up here: this may be the first of its processes
	case bootstrap.IsAgent(args):
		return bootstrap.Serve(args[2], in, out, All)
	case terminal:
		return ErrByHand
	}
	debug.SetGCPercent(agent.GCPercent)
	if silence, ok := bootstrap.IsWatched(args); ok {
		return bootstrap.Watch(silence, in, out, All)
	}
	lives, end := context.WithCancel(context.Background())
	defer end()
	return agent.Serve(context.Background(), agent.Ending{Reader: in, Ended: end}, out, All(lives))
}
