package program

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/keeper"
)

// Command is a program and how it is started.
type Command struct {
	Path  string // looked up in PATH by the agent when it has no slash
	Args  []string
	Env   []string // added to the agent's
	Stdin string   // /dev/stdin can be opened as often as one likes
	CPUs  []int    // where it may run; empty is anywhere
}

// Place is what a program is given beyond what it is started with.
type Place struct {
	// Before are run to their ends before the program, one after the other, in its place.
	// What they say is wanted only when they fail.
	Before []Command
	// Files are in the directory that the program begins in, which is in memory, its own and
	// gone with it. Nil: it has none.
	Files map[string]File
	// Nobody: it does not run as root where the agent does, but as a user who owns nothing.
	Nobody bool
	// Hold are the addresses that its sockets are held to: for a server that cannot be told
	// where to listen.
	Hold []netip.Addr
}

// File is the content of a file: a text, then zeros up to a size.
type File = keeper.File

func (c Command) String() string { return strings.Join(append([]string{c.Path}, c.Args...), " ") }

// Output is what a program left behind.
type Output struct {
	Stdout string
	Stderr string
	Status int // exit status; -1: ended by a signal
}

// Why says in one line why the program failed, in its own words where it has some.
func (o Output) Why() string {
	for _, text := range []string{o.Stderr, o.Stdout} {
		lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
		if n := len(lines); n > 0 {
			return strings.Join(lines[max(0, n-3):], " | ")
		}
	}
	return fmt.Sprintf("exit status %d, and it said nothing", o.Status)
}

// maxOutput is how much of each output is kept, in bytes: a program that prints more
// is broken.
const maxOutput = 4 << 20

// child is a started program. All that it starts is in its process group, or is its
// keeper's.
type child struct {
	cmd      *exec.Cmd    // itself, or its keeper
	kept     *keeper.Kept // nil: it has no keeper
	out, err limited
	started  time.Time
	sent     atomic.Uint64 // the signals that it was sent by us, a bit each
	done     chan struct{} // closed when it has ended
	output   Output
	broken   bool  // ended by somebody else's signal, or with too much to say
	last     usage // of its whole life, once it has ended
	observed readings
}

// launch starts a program that ends by itself.
func launch(c Command) (*child, error) {
	k := &child{done: make(chan struct{})}
	return k, k.begin(c, func() error {
		stdin, err := keeper.Memory("input", c.Stdin)
		if err != nil {
			return err
		}
		defer stdin.Close()
		moreFiles()
		k.cmd = exec.Command(c.Path, c.Args...)
		k.cmd.Env = append(k.cmd.Environ(), append([]string{"LC_ALL=C"}, c.Env...)...)
		k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = stdin, &k.out, &k.err
		k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		k.cmd.WaitDelay = time.Second // for a descendant that holds an output open
		return k.cmd.Start()
	})
}

// keep starts a program under a keeper, and returns when it has been started, after all that
// comes before it. bound says that all that runs here ends with nettoll anyhow. The keeper
// of one that lingers stays with its files until it is let go.
func keep(ctx context.Context, c Command, p Place, bound, lingers bool) (*child, error) {
	k := &child{done: make(chan struct{})}
	s := keeper.Spec{Program: c.kept(), Files: p.Files, Nobody: p.Nobody, Hold: p.Hold, Linger: lingers}
	for _, before := range p.Before {
		s.Before = append(s.Before, before.kept())
	}
	err := k.begin(c, func() (err error) {
		if k.kept, err = keeper.Start(s, &k.out, &k.err, bound); err == nil {
			k.cmd = k.kept.Cmd
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := k.kept.Ready(ctx); err != nil {
		k.stop(syscall.SIGKILL)
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return k, nil
}

// kept is the command as a keeper takes it.
func (c Command) kept() keeper.Program {
	return keeper.Program{Path: c.Path, Args: c.Args, Env: c.Env, Stdin: c.Stdin}
}

// begin starts a program on a thread of its own, from which it inherits its CPUs and whose
// end would be its own.
func (k *child) begin(c Command, start func() error) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		err := pin(c.CPUs)
		if err == nil {
			k.started = time.Now()
			err = start()
		}
		started <- err
		if err == nil {
			k.wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", c.Path, err)
	}
	return nil
}

// moreFiles lets the programs that this process starts open as many files as it may itself:
// Go gives them back the limit that it began with.
var moreFiles = sync.OnceFunc(func() {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files) // which tells Go that it is meant
	}
})

func pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin to CPUs %v: %w", cpus, err)
	}
	return nil
}

func (k *child) wait() {
	if k.kept != nil {
		_ = k.kept.Wait() // Status tells
	} else {
		_ = k.cmd.Wait() // the state does
	}
	s := k.cmd.ProcessState
	status, signal, known := -1, syscall.Signal(0), false
	if k.kept != nil {
		status, signal, known = k.kept.Status() // the keeper may have been killed after that
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && !known {
		if ws.Signaled() {
			signal = ws.Signal()
		} else if k.kept == nil {
			status = ws.ExitStatus()
		}
	}
	k.output = Output{Stdout: k.out.String(), Stderr: k.err.String(), Status: status}
	if k.out.over || k.err.over {
		k.broken = true
		k.output = Output{Stderr: fmt.Sprintf("printed more than %d bytes", maxOutput), Status: -1}
	}
	sent := k.sent.Load()
	if known {
		sent &^= 1 << syscall.SIGKILL // which ends the keeper, who tells no more then
	}
	if signal != 0 && sent&(1<<signal) == 0 {
		k.broken = true
		k.output.Stderr = strings.TrimSpace(k.output.Stderr + "\nkilled by signal: " + signal.String())
	}
	if r, ok := s.SysUsage().(*syscall.Rusage); ok {
		k.last = usage{user: time.Duration(r.Utime.Nano()).Seconds(), system: time.Duration(r.Stime.Nano()).Seconds()}
	}
	close(k.done)
}

// patience is how long a program that is asked to end may take.
const patience = 500 * time.Millisecond

// keeperTime is how long a keeper without namespaces may take to end one descendant after the
// other and to remove their files. Who kills it leaves them.
const keeperTime = 5 * time.Second

// stop ends the program and all that it has started, and returns when they have
// ended. Programs print what they have when they are asked by SIGINT or SIGTERM.
func (k *child) stop(sig syscall.Signal) {
	select {
	case <-k.done:
	default:
		if sig == syscall.SIGKILL {
			break
		}
		k.sent.Or(1 << sig)
		_ = unix.Kill(k.cmd.Process.Pid, sig) // fails where it has just ended
		select {
		case <-k.done:
		case <-time.After(patience):
		}
	}
	k.sent.Or(1 << syscall.SIGKILL)
	if k.kept != nil {
		k.kept.Kill()
		select {
		case <-k.done:
		case <-time.After(keeperTime):
		}
	}
	_ = unix.Kill(-k.cmd.Process.Pid, unix.SIGKILL) // fails where nobody is left
	<-k.done
}

// await returns when the program has ended, or stops it when ctx ends.
func (k *child) await(ctx context.Context) error {
	select {
	case <-k.done:
		return nil
	case <-ctx.Done():
		k.stop(syscall.SIGKILL)
		return context.Cause(ctx)
	}
}

// limited keeps the beginning of what is written to it.
type limited struct {
	mu   sync.Mutex
	b    []byte
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := maxOutput - len(l.b)
	l.over = l.over || len(b) > room
	l.b = append(l.b, b[:min(len(b), room)]...)
	return len(b), nil
}

func (l *limited) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
