// Command nettoll-agent is the agent that nettoll starts in every endpoint, as a program of its own for images of
// containers: without charts and a command line it is a third of the size of nettoll. It answers the same requests
// as "nettoll agent".
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/term"

	"nettoll/internal/handlers"
	"nettoll/internal/origin"
)

// The exit statuses, as in nettoll.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	// The agent ends when its input does, and not by a signal that was meant for the process that started it. The
	// signals are caught rather than ignored, since its programs would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(run(os.Args[1:], term.IsTerminal(int(os.Stdout.Fd())), os.Stdin, os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(args []string, terminal bool, stdin io.Reader, stdout, stderr io.Writer) int {
	fail := func(status int, format string, values ...any) int {
		fmt.Fprintf(stderr, "nettoll-agent: "+format+"\n", values...)
		return status
	}
	switch {
	case slices.Equal(args, []string{"--version"}):
		if _, err := fmt.Fprintf(stdout, "nettoll-agent %s\n", origin.Text()); err != nil {
			return fail(exitFailure, "%v", err)
		}
		return exitOK
	case len(args) == 0:
		args = []string{"agent"}
	case !handlers.IsAgent(args):
		return fail(exitUsage, "no such arguments: %q; it takes none, or agent, or --version", args)
	}
	switch err := handlers.Main(args, terminal, stdin, stdout); {
	case errors.Is(err, handlers.ErrByHand):
		return fail(exitUsage, "%v", err)
	case err != nil:
		return fail(exitFailure, "%v", err)
	}
	return exitOK
}
