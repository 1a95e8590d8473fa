// Package nsexec starts programs of this machine as a platform's processes, in any network namespace
// that has a path.
package nsexec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"nettoll/internal/cgroup"
	"nettoll/internal/netns"
	"nettoll/platform"
)

// Start runs a command in the network namespace at ns, or in that of this process if ns is empty. name
// is the endpoint's, for errors. The environment is env followed by the command's own.
func Start(ctx context.Context, name, ns string, env []string, c platform.Command) (platform.Process, error) {
	return start(ctx, name, env, c, func(cmd *exec.Cmd, _ <-chan struct{}) error { return netns.Do(ns, cmd.Start) })
}

// StartTied is Start for a process that the kernel kills when this one ends, however that is. Processes that it starts
// itself are not killed with it. It takes a thread as long as it runs.
func StartTied(ctx context.Context, name, ns string, env []string, c platform.Command) (platform.Process, error) {
	return start(ctx, name, env, c, func(cmd *exec.Cmd, over <-chan struct{}) error {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
		started := make(chan error)
		go tied(ns, cmd, started, over)
		return <-started
	})
}

// tied starts a process in a namespace from a thread that lives until the process is over: the kernel kills the process
// when that thread ends.
func tied(ns string, cmd *exec.Cmd, started chan<- error, over <-chan struct{}) {
	runtime.LockOSThread() // the thread stays in the namespace, and ends with this goroutine
	if unix.Gettid() == unix.Getpid() {
		// This is the first thread, whose namespace /proc/self/ns/net names. While it is held here, another goroutine
		// gets another thread.
		defer runtime.UnlockOSThread()
		second := make(chan error)
		go tied(ns, cmd, second, over)
		started <- <-second
		return
	}
	var err error
	if ns != "" {
		err = netns.Enter(ns)
	}
	if err == nil {
		err = cmd.Start()
	}
	started <- err
	if err == nil {
		<-over
	}
}

// start starts a command by begin, which is given what is closed when the process is over.
func start(ctx context.Context, name string, env []string, c platform.Command, begin func(cmd *exec.Cmd, over <-chan struct{}) error) (platform.Process, error) {
	path := c.Path
	if path == platform.Self {
		path = "/proc/self/exe"
	}
	if !c.Foreground { // it is not the user's own command
		env = withoutGo(env)
	}
	p := &process{Life: NewLife(), cmd: exec.Command(path, c.Args...), starved: cgroup.Starved()}
	p.cmd.Env, p.cmd.Dir = slices.Concat(env, c.Env), c.Dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = lastWords
	if c.Foreground {
		// A shell can only use a process group of its own PID namespace, so it gets one that it can see,
		// and the terminal with it.
		p.cmd.SysProcAttr.Foreground = c.Stdin == os.Stdin && term.IsTerminal(int(os.Stdin.Fd()))
	}
	var write *os.File
	var err error
	if c.Stdin == nil {
		p.In, err = p.cmd.StdinPipe()
	}
	if c.Stdout == nil && err == nil {
		// Unlike exec.StdoutPipe, this outlives Wait, so that nothing unread is lost.
		var read *os.File
		if read, write, err = os.Pipe(); err == nil {
			p.Out, p.cmd.Stdout = read, write
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: start %s: %w", name, c.Path, err)
	}
	if c.Stderr == nil {
		p.cmd.Stderr = &p.Errors
	}
	err = context.Cause(ctx)
	if err == nil {
		err = begin(p.cmd, p.Over())
	}
	if write != nil {
		write.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("%s: start %s: %w", name, c.Path, err)
	}
	p.ID = p.cmd.Process.Pid
	go p.wait()
	return p, nil
}

// ofGo are variables by which users tune Go programs of their own: they would change daemons and agents that are written in Go,
// and with them what is measured.
var ofGo = []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK"}

func withoutGo(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(ofGo, name)
	})
}

// process is a running command.
type process struct {
	*Life
	cmd     *exec.Cmd
	starved uint64      // cgroup.Starved before it was started
	killed  atomic.Bool // by Kill
}

// closePipes closes the pipe ends of a process that could not be started.
func (p *process) closePipes() {
	if p.In != nil {
		p.In.Close()
	}
	if p.Out != nil {
		p.Out.Close()
	}
}

// lastWords is how long other processes that a process has left behind may hold its outputs open after
// it has ended.
const lastWords = 2 * time.Second

// deathTime is how long a killed process may take to end. Freeing its last resources can take seconds.
const deathTime = time.Minute

func (p *process) wait() {
	err := p.cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended successfully
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !p.killed.Load() &&
		exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && cgroup.Starved() > p.starved {
		err = fmt.Errorf("%w%s", err, cgroup.ByKernel)
	}
	p.End(err)
}

// Kill implements platform.Process. The processes that the process has started are killed with it:
// they could hold its standard error open, which Wait waits for.
func (p *process) Kill() error {
	if p.Ended() {
		return nil
	}
	p.killed.Store(true)
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	_ = unix.Kill(-p.PID(), unix.SIGKILL) // its process group; fails if it is empty
	select {
	case <-p.Over():
		return err
	case <-time.After(deathTime): // it hangs in the kernel
		return errors.Join(err, fmt.Errorf("process %d did not end within %v of being killed", p.PID(), deathTime))
	}
}

// runTime bounds a program that runs to its end.
const runTime = 2 * time.Minute

// Run runs a program at an endpoint to its end, within ctx and runTime.
func Run(ctx context.Context, at platform.Endpoint, cmd platform.Command) error {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("%s did not end within %v", cmd.Path, runTime))
	defer cancel()
	p, err := at.Start(ctx, cmd)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Kill())
	}
}

// Output runs a program as Run does, and returns what it prints.
func Output(ctx context.Context, at platform.Endpoint, path string, args ...string) (string, error) {
	var out strings.Builder
	err := Run(ctx, at, platform.Command{Path: path, Args: args, Stdout: &out})
	return out.String(), err
}

// Tail keeps the end of the text that is written to it. The zero value is ready to use.
//
// If Go's runtime ends a program, because it panicked or, for instance, cannot get another thread, what it says of that is
// kept alone: neither what the program had said before, nor the stacks of goroutines that follow.
type Tail struct {
	mu    sync.Mutex
	b     []byte
	fatal bool // the runtime has said it
}

const tailSize = 2 << 10 // bytes

// fatal is what Go's runtime, or its part in C, says of why it ends a program, up to the empty line after it.
var fatal = regexp.MustCompile(`(?m)^(runtime: .+\n)*((fatal error|panic|runtime/cgo): |SIG[A-Z]+: .+\nPC=)(.+\n)+\n`)

// Write implements io.Writer; it never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fatal {
		return len(b), nil
	}
	t.b = append(t.b, b...)
	if at := fatal.FindIndex(t.b); at != nil {
		t.b, t.fatal = t.b[at[0]:at[1]], true
	}
	if extra := len(t.b) - tailSize; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return len(b), nil
}

// String returns the kept text, without surrounding white space.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}

var bound atomic.Bool

// Bind declares that everything this process starts ends with it, however it ends, because it is in a
// lab.
func Bind() { bound.Store(true) }

// Bound reports whether Bind was called.
func Bound() bool { return bound.Load() }
