// Package daemon runs the programs that networks are made of on hosts of the lab: it
// finds them, waits until they are ready, keeps what they log, and knows when one has
// ended that should not have.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/emulated"
	"nettoll/internal/process"
	"nettoll/internal/undo"
	"nettoll/platform"
)

// Spec is a program to be run.
type Spec struct {
	Name string // as records and errors call it, "flanneld"
	Path string
	Args []string
	Env  []string
	Dir  string // working directory; empty is that of nettoll
	// Ready gives nil once the daemon does what it is for. It is asked again and again.
	// nil: it is ready when it runs.
	Ready func(context.Context) error
	// Patience is how long that may take; 0 is 20 s.
	Patience time.Duration
	// Grace is how long it may take to end when it is asked to; 0 is 2 s.
	Grace time.Duration
	// Complaint says whether a line of the log tells of something wrong with a daemon
	// that stays up. nil: no line does.
	Complaint func(line string) bool
}

// What holds where a Spec does not say.
const (
	patience = 20 * time.Second
	grace    = 2 * time.Second
)

// Daemon is a program that runs on a host.
type Daemon struct {
	platform.Process
	name, host string
	log        log
	grace      time.Duration
	ended      chan struct{}
	stopped    atomic.Bool // we ended it
}

// Start runs a program on a host and returns when it is ready. Its end is pushed to
// the stack. The error of one that does not become ready has the end of its log.
func Start(ctx context.Context, stack *undo.Stack, h platform.Host, s Spec) (*Daemon, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	d := &Daemon{name: s.Name, host: h.Name(), log: log{complaint: s.Complaint}, grace: cmp.Or(s.Grace, grace), ended: make(chan struct{})}
	// Nobody in a lab reaches the user's proxy, and all that daemons talk to is in the lab.
	env := append([]string{"NO_PROXY=*", "no_proxy=*"}, s.Env...)
	var err error
	d.Process, err = h.Start(ctx, platform.Command{Path: s.Path, Args: s.Args, Env: env, Dir: s.Dir, Stdout: &d.log, Stderr: &d.log})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	stack.Push(d.String(), func(context.Context) error { return d.Stop() })
	go func() {
		_ = d.Process.Wait()
		close(d.ended)
	}()
	if err := d.await(ctx, s); err != nil {
		return nil, err
	}
	return d, nil
}

// await returns when the daemon is ready.
func (d *Daemon) await(ctx context.Context, s Spec) error {
	if s.Ready == nil {
		return d.Fault()
	}
	long := cmp.Or(s.Patience, patience)
	err := Until(ctx, long, s.Ready, d)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s was not ready: %w%s", d, err, d.said())
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", d, context.Cause(ctx))
	}
	if fault := d.Fault(); fault != nil {
		return fault
	}
	return fmt.Errorf("%s was not ready within %v: %w%s", d, long, err, d.said())
}

// String is what records call it.
func (d *Daemon) String() string { return d.name + " on " + d.host }

// OnHost is the name of the host that it runs on.
func (d *Daemon) OnHost() string { return d.host }

// Fault says how the daemon ended, if it did by itself.
func (d *Daemon) Fault() error {
	select {
	case <-d.ended:
	default:
		return nil
	}
	if d.stopped.Load() {
		return nil
	}
	how := "by itself"
	if err := d.Process.Wait(); err != nil {
		how = firstLine(err.Error())
	}
	return fmt.Errorf("%s ended (%s)%s", d, how, d.said())
}

// Complaints are the last lines of the log that tell of something wrong, if the daemon
// has written any.
func (d *Daemon) Complaints() (all []string) {
	for _, line := range d.log.complaints() {
		all = append(all, d.String()+" says: "+line)
	}
	return all
}

// Log is the end of what the daemon has logged.
func (d *Daemon) Log() string { return d.log.String() }

// said is what the log tells, on one line, for errors: its complaints where there are such,
// else its end.
func (d *Daemon) said() string {
	if complaints := d.log.complaints(); len(complaints) > 0 {
		return ": it says: " + strings.Join(complaints, " | ")
	}
	if text := d.log.String(); text != "" {
		return ": its log ends with: " + strings.ReplaceAll(text, "\n", " | ")
	}
	return ": it logged nothing"
}

// Stop asks the daemon to end, and ends it where it does not, with all that it has started:
// that could go on to change what is tidied up behind the daemon. It may be called again.
func (d *Daemon) Stop() error {
	d.stopped.Store(true)
	select {
	case <-d.ended:
		return nil
	default:
	}
	if err := unix.Kill(d.PID(), syscall.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("%s: %w", d, err)
	}
	select {
	case <-d.ended:
		return d.endOrphans()
	case <-time.After(d.grace):
		return errors.Join(d.Process.Kill(), d.endOrphans())
	}
}

// endOrphans ends what the daemon has left running in its process group, and returns when
// nobody is in it.
func (d *Daemon) endOrphans() error {
	within := emulated.Patience(grace)
	for end := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		err := unix.Kill(-d.PID(), unix.SIGKILL)
		switch {
		case errors.Is(err, unix.ESRCH):
			return nil
		case err != nil:
			return fmt.Errorf("%s: end what it has started: %w", d, err)
		case time.Now().After(end):
			return fmt.Errorf("%s: what it has started did not end within %v of being killed", d, within)
		}
	}
}

// Kill ends the daemon at once. When it returns, Fault knows of it.
func (d *Daemon) Kill() error {
	err := d.Process.Kill()
	<-d.ended
	return err
}

// Available says whether daemons may be started here: where nothing but this process
// would end them, they could outlive it.
func Available() error {
	if process.Bound() {
		return nil
	}
	return &platform.Unsupported{
		Feature: "a network with daemons", Option: "a lab, whose end ends them",
		Remedy: "measure it in a run of its own, or beside Docker with --private-engine",
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

var _ fmt.Stringer = (*Daemon)(nil)

// log keeps the end of what a daemon writes, and what it complains of.
type log struct {
	process.Tail
	complaint func(string) bool
	lines     lines
}

// Write implements io.Writer.
func (l *log) Write(b []byte) (int, error) {
	if l.complaint != nil {
		l.lines.split(b, l.complaint)
	}
	return l.Tail.Write(b)
}

func (l *log) complaints() []string { return l.lines.all() }
