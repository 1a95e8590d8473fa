// Package daemon runs the programs that networks depend on, on hosts of the lab and of agents: it finds them, waits
// until they are ready, keeps the end of their logs, and detects when one has ended unexpectedly.
package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/await"
	"nettoll/internal/emulated"
	"nettoll/internal/nsexec"
	"nettoll/internal/oneline"
	"nettoll/internal/undo"
	"nettoll/platform"
	"nettoll/record"
)

// Spec describes a program to be run.
type Spec struct {
	Name string // its name in records and errors, for example "flanneld"
	Path string
	Args []string
	Env  []string
	Dir  string // working directory; empty means nettoll's
	// Ready returns nil once the daemon does its work. It is called repeatedly. If it is nil, the
	// daemon is ready as soon as it runs.
	Ready func(context.Context) error
	// Needs are daemons without which it does not become ready: if one of them ends, that is the reason.
	Needs []*Daemon
	// Patience is how long becoming ready may take; 0 means 40 s.
	Patience time.Duration
	// Grace is how long the daemon may take to end after it is asked to; 0 means 2 s.
	Grace time.Duration
	// Tied says that what the host starts ends with this process, however that ends, also outside a lab.
	Tied bool
	// Complaint reports whether a line of the log is about a fault of a daemon that stays up. nil: no
	// line is.
	Complaint func(line string) bool
}

// Defaults of a Spec.
const (
	patience = 40 * time.Second
	grace    = 2 * time.Second
)

// deathTime is how long killed processes may take to end: each has to run for that.
const deathTime = 30 * time.Second

// Daemon is a program that runs on a host.
type Daemon struct {
	platform.Process
	name, host string
	log        log
	grace      time.Duration
	ended      chan struct{} // closed when it has ended, and what it had started has been ended
	orphans    error         // of ending what it had started; read it after ended is closed
	stopped    atomic.Bool   // nettoll ended it
}

// Start runs a program on a host and returns when it is ready. Its end is pushed to the stack. If it
// does not become ready, the error includes the end of its log.
func Start(ctx context.Context, stack *undo.Stack, h platform.Host, s Spec) (*Daemon, error) {
	if err := Available(); err != nil && !s.Tied {
		return nil, err
	}
	d := &Daemon{name: s.Name, host: h.Name(), log: log{complaint: s.Complaint}, grace: cmp.Or(s.Grace, grace), ended: make(chan struct{})}
	// The user's proxy cannot be reached from a lab, and daemons talk only to others in the lab.
	env := append([]string{"NO_PROXY=*", "no_proxy=*"}, s.Env...)
	var err error
	d.Process, err = h.Start(ctx, platform.Command{Path: s.Path, Args: s.Args, Env: env, Dir: s.Dir, Stdout: &d.log, Stderr: &d.log})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	stack.Push(d.String(), func(context.Context) error { return d.Stop() })
	go func() {
		_ = d.Process.Wait()
		// Also if it ended by itself. Later, the number of its process group may be that of another one.
		d.orphans = d.endOrphans()
		close(d.ended)
	}()
	if err := d.await(ctx, s); err != nil {
		return nil, err
	}
	return d, nil
}

// await waits until the daemon is ready.
func (d *Daemon) await(ctx context.Context, s Spec) error {
	if s.Ready == nil {
		return d.Fault()
	}
	long := cmp.Or(s.Patience, patience)
	needed := append(slices.Clone(s.Needs), d)
	err := Until(ctx, long, s.Ready, needed...)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s was not ready: %w%s", d, err, d.said())
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", d, context.Cause(ctx))
	}
	if fault := record.Try(needed, (*Daemon).Fault); fault != nil {
		return fault
	}
	return fmt.Errorf("%s was not ready within %v: %w%s", d, long, err, d.said())
}

// String returns the daemon's name in records.
func (d *Daemon) String() string { return d.name + " on " + d.host }

// OnHost returns the name of the host that it runs on.
func (d *Daemon) OnHost() string { return d.host }

// Fault returns how the daemon ended, if it ended by itself.
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
		how, _, _ = strings.Cut(err.Error(), "\n")
	}
	return fmt.Errorf("%s ended (%s)%s", d, how, d.said())
}

// Complaints returns the last lines of the log that are about faults, if there are any.
func (d *Daemon) Complaints() []string {
	return record.Each(d.log.complaints(), func(line string) string { return d.String() + " says: " + line })
}

// Log returns the end of the daemon's log.
func (d *Daemon) Log() string { return d.log.String() }

// said returns an excerpt of the log on one line, for errors: its complaints if there are any,
// otherwise its end.
func (d *Daemon) said() string {
	if complaints := d.log.complaints(); len(complaints) > 0 {
		return ": it says: " + strings.Join(complaints, " | ")
	}
	if text := oneline.Output(d.log.String()); text != "" {
		return ": its log ends with: " + text
	}
	return ": it logged nothing"
}

// Stop asks the daemon to end, kills it if it does not, and kills all processes that it has started:
// they could continue to change things while they are being cleaned up. It may be called again.
func (d *Daemon) Stop() error {
	d.stopped.Store(true)
	if err := cmp.Or(d.signal(unix.SIGTERM), d.Resume()); err != nil {
		return err
	}
	select {
	case <-d.ended:
		return d.orphans
	case <-time.After(d.grace):
		return d.Kill()
	}
}

// Pause stops the daemon where it is, until Resume is called. That is no fault.
func (d *Daemon) Pause() error { return d.signal(unix.SIGSTOP) }

// Resume has a paused daemon go on. It does nothing to others.
func (d *Daemon) Resume() error { return d.signal(unix.SIGCONT) }

// signal sends a signal to the daemon, unless that has ended.
func (d *Daemon) signal(s syscall.Signal) error {
	select {
	case <-d.ended:
		return nil
	default:
	}
	if err := unix.Kill(d.PID(), s); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("%s: %w", d, err)
	}
	return nil
}

// endOrphans kills the processes that the daemon has left in its process group, and returns when none
// is left.
func (d *Daemon) endOrphans() error {
	within := emulated.Patience(deathTime)
	return await.Until(context.Background(), within, time.Millisecond, func(context.Context) (missing, err error) {
		switch err := unix.Kill(-d.PID(), unix.SIGKILL); {
		case errors.Is(err, unix.ESRCH):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("%s: end the processes that it has started: %w", d, err)
		}
		return fmt.Errorf("%s: the processes that it has started did not end within %v of being killed", d, within), nil
	})
}

// Kill kills the daemon, and all processes that it has started. When it returns, Fault reports it, unless it returns
// the error that the daemon did not end.
func (d *Daemon) Kill() error {
	if err := d.Process.Kill(); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	<-d.ended
	return d.orphans
}

// Available returns an error if daemons must not be started here: outside a lab, only this process
// would end them, so they could outlive it.
func Available() error {
	if nsexec.Bound() {
		return nil
	}
	return &platform.Unsupported{
		Feature: "a network with daemons", Option: "a lab, which ends them",
		Remedy: "measure it in a separate run, or together with Docker networks by --private-engine",
	}
}

var _ fmt.Stringer = (*Daemon)(nil)

// log keeps the end of a daemon's output, and its last complaints.
type log struct {
	nsexec.Tail
	complaint func(string) bool

	mu   sync.Mutex
	part []byte // of an incomplete line
	kept []string
}

const (
	mostLines   = 3
	longestLine = 300 // bytes
)

// Write implements io.Writer.
func (l *log) Write(b []byte) (int, error) {
	if l.complaint != nil {
		l.split(b)
	}
	return l.Tail.Write(b)
}

// split looks for complaints in the output.
func (l *log) split(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, b...)
	for {
		line, rest, complete := bytes.Cut(l.part, []byte("\n"))
		if !complete {
			if len(l.part) > longestLine { // the beginning of an endless line is enough
				l.part = l.part[:longestLine]
			}
			return
		}
		l.part = bytes.Clone(rest)
		text := strings.TrimSpace(string(line[:min(len(line), longestLine)]))
		if !l.complaint(text) || slices.Contains(l.kept, text) {
			continue
		}
		if l.kept = append(l.kept, text); len(l.kept) > mostLines {
			l.kept = l.kept[1:]
		}
	}
}

func (l *log) complaints() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.kept)
}
