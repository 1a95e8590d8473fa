package program

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is a program and how it is started.
type Command struct {
	Path  string // looked up in PATH by the agent when it has no slash
	Args  []string
	Env   []string // added to the agent's
	Stdin string
	CPUs  []int // where it may run; empty is anywhere
}

func (c Command) String() string { return strings.Join(append([]string{c.Path}, c.Args...), " ") }

// same is whether two commands are equal but for their CPUs.
func (c Command) same(d Command) bool {
	return c.Path == d.Path && slices.Equal(c.Args, d.Args) && slices.Equal(c.Env, d.Env) && c.Stdin == d.Stdin
}

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

// child is a started program. All that it starts is in its process group.
type child struct {
	cmd      *exec.Cmd
	out, err limited
	started  time.Time
	stopped  atomic.Bool   // by us
	done     chan struct{} // closed when it has ended
	output   Output
	last     usage // of its whole life, once it has ended
}

// launch starts a program on a thread of its own, from which it inherits its CPUs
// and whose end would be its own.
func launch(c Command) (*child, error) {
	k := &child{cmd: exec.Command(c.Path, c.Args...), done: make(chan struct{})}
	k.cmd.Env = append(k.cmd.Environ(), append([]string{"LC_ALL=C"}, c.Env...)...)
	k.cmd.Stdin = strings.NewReader(c.Stdin)
	k.cmd.Stdout, k.cmd.Stderr = &k.out, &k.err
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	k.cmd.WaitDelay = time.Second // for a descendant that holds an output open
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		err := pin(c.CPUs)
		if err == nil {
			k.started = time.Now()
			err = k.cmd.Start()
		}
		started <- err
		if err == nil {
			k.wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return k, nil
}

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
	err := k.cmd.Wait()
	s := k.cmd.ProcessState
	k.output = Output{Stdout: k.out.String(), Stderr: k.err.String(), Status: s.ExitCode()}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if k.out.over || k.err.over {
		k.output = Output{Stderr: fmt.Sprintf("printed more than %d bytes", maxOutput), Status: -1}
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() && !k.stopped.Load() {
		k.output.Stderr = strings.TrimSpace(k.output.Stderr + "\nkilled by signal: " + ws.Signal().String())
	}
	if r, ok := s.SysUsage().(*syscall.Rusage); ok {
		k.last = usage{user: time.Duration(r.Utime.Nano()).Seconds(), system: time.Duration(r.Stime.Nano()).Seconds()}
	}
	close(k.done)
}

// patience is how long a program that is asked to end may take.
const patience = 500 * time.Millisecond

// stop ends the program and all that it has started, and returns when they have
// ended. Programs print what they have when they are asked by SIGINT or SIGTERM.
func (k *child) stop(sig syscall.Signal) {
	select {
	case <-k.done:
	default:
		k.stopped.Store(true)
		if sig == syscall.SIGKILL {
			break
		}
		_ = unix.Kill(k.cmd.Process.Pid, sig) // fails where it has just ended
		select {
		case <-k.done:
		case <-time.After(patience):
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
