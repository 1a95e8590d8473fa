// Command nettoll measures what each container network costs: throughput, latency and CPU time, compared with the
// same machine without any container network.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"nettoll/internal/cgroup"
	"nettoll/internal/handlers"
	"nettoll/internal/oneline"
	"nettoll/internal/origin"
	"nettoll/internal/program"
	"nettoll/platform/lab"
	"nettoll/report"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailure     = 1   // a cell that can run here has no good trial, or an error
	exitUsage       = 2   // a mistake in the command line or a suite file
	exitInterrupted = 130 // by ctrl-C; what was measured is kept
)

// The kernel ties the life of a lab to the thread that starts it; only the main thread lives as long as the
// program.
func init() { runtime.LockOSThread() }

func main() {
	lab.First(cgroup.Remove)
	dumb := os.Getenv("TERM") == "dumb" // such a terminal takes no control sequences
	a := &app{
		args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		terminal: term.IsTerminal(int(os.Stdout.Fd())),
		watched:  term.IsTerminal(int(os.Stderr.Fd())) && !dumb,
		noColor:  os.Getenv("NO_COLOR") != "" || dumb,
		width:    func() int { return width(os.Stdout) },
		errWidth: func() int { return width(os.Stderr) },
	}
	ctx, stop := signal.NotifyContext(context.Background(), lab.Ending()...)
	context.AfterFunc(ctx, func() { // a second signal has its usual effect
		time.Sleep(lab.Again)
		stop()
	})
	status := a.run(ctx)
	placing.Lock() // held until the program has ended
	os.Exit(status)
}

// unless runs a function that does not take ctx, and abandons it when ctx ends. A file that it has begun to write
// is then either complete, or as it was before.
func unless(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// width returns the number of columns of a terminal, or 0 if f is not a terminal.
func width(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// app holds everything outside the program that a command may use.
type app struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // stdout is a terminal
	watched        bool // stderr is a terminal
	noColor        bool
	width          func() int // of stdout
	errWidth       func() int // of stderr

	paths program.Paths // from --tool-path
	cni   cniFlags
}

// usageError is a mistake in the command line or in a file it names.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError carries a status whose reason has already been printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// run runs the command line and returns the exit status.
func (a *app) run(ctx context.Context) int {
	err := a.execute(ctx)
	var status exitError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(a.stderr, "nettoll: interrupted")
		return exitInterrupted
	case unread(err): // there is no one to report to
		return exitFailure
	case errors.As(err, &status):
		return int(status)
	}
	if errors.Is(err, lab.ErrKilled) && a.watched {
		fmt.Fprint(a.stderr, clearLine) // left by the process that was killed
	}
	fmt.Fprintf(a.stderr, "nettoll: %s\n", told(err.Error()))
	switch {
	case errors.As(err, &usageError{}):
		return exitUsage
	case errors.Is(err, lab.ErrKilled):
		return exitInterrupted
	}
	return exitFailure
}

// execute runs a command. It is an agent before it makes the commands: a round of the lab starts a dozen of these.
func (a *app) execute(ctx context.Context) error {
	if handlers.IsAgent(a.args) {
		err := handlers.Main(a.args, a.terminal, a.stdin, a.stdout)
		if errors.Is(err, handlers.ErrByHand) {
			return usageError{err}
		}
		return err
	}
	root := a.root()
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	help := &sink{w: a.stdout}
	root.SetOut(help)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && help.err != nil {
		err = fmt.Errorf("write standard output: %w", cause(help.err))
	}
	return err
}

// unread reports whether the reader of standard output has gone. A connection to an engine can break in the same way.
func unread(err error) bool {
	var to *fs.PathError
	return errors.As(err, &to) && to.Path == os.Stdout.Name() && errors.Is(to, syscall.EPIPE)
}

// addPrograms adds the flags of commands that run programs of this machine.
func (a *app) addPrograms(fl *pflag.FlagSet) {
	fl.StringToStringVar((*map[string]string)(&a.paths), "tool-path", nil,
		"path of a program, instead of looking it up in PATH, such as iperf3=/opt/iperf3")
	fl.Lookup("tool-path").DefValue = ""
	a.cni.add(fl)
}

// sink remembers a write error, since the code that prints help ignores it.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.err = cmp.Or(s.err, err)
	return n, err
}

// longestLine bounds the text of one error, in characters: names in run files and suites can have any length.
const longestLine = 4000

// told returns a text, or errors that were joined, on one line for standard error, without any characters that a
// terminal would act on: names come from files, and reasons from other programs.
func told(text string) string {
	return oneline.Cut(report.Printable(oneline.Errors(text)), longestLine)
}

// checkPaths refuses a --tool-path that would have no effect.
func (a *app) checkPaths() error {
	known := slices.Sorted(slices.Values(slices.Concat(programs(), daemons())))
	for name, file := range a.paths {
		if !slices.Contains(known, name) {
			return usagef("--tool-path %s: nettoll takes no path of such a program; it takes those of %s%s", name, strings.Join(known, ", "), nearest(name, known))
		}
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			return usagef("--tool-path %s=%s: no such program", name, file)
		}
		if err := reachable("--tool-path", file); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "nettoll",
		Version: origin.Text(),
		Short:   "What does a container network cost?",
		Long: `nettoll measures what each container network costs: throughput, latency and CPU
time, compared with the same machine without any container network.

It builds the networks for real in namespaces of its own, drives traffic through
them, proves that the packets took the intended path, and compares each network
with native, with confidence intervals.`,
		Example: `  nettoll run                      the default suite, in a minute or so
  nettoll run bridge macvlan -4 -6 two networks, both IP versions
  nettoll doctor                   what can run here, and what would fix the rest
  nettoll lab bridge               a shell inside a container of that network`,
		SilenceUsage: true, SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return cmp.Or(valued(cmd.Flags()), a.checkPaths(), a.cni.load())
	}
	root.SetVersionTemplate("nettoll {{.Version}}\n")
	root.SetFlagErrorFunc(a.flagFault)
	root.AddCommand(a.runCommand(), a.listCommand(), a.doctorCommand(), a.reportCommand(), a.labCommand(), a.cleanCommand(), a.suiteCommand(), a.manCommand(), a.versionCommand())
	strict(root)
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "run", "list", "doctor", "lab":
			a.addPrograms(cmd.Flags())
			grouped(cmd.Flags(), "Programs and plugins of this machine")
		}
		onlyOnce(cmd.Flags())
		completeFiles(cmd)
	}
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	return root
}
