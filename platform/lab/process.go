package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"nettoll/internal/netns"
	"nettoll/platform"
)

// endpoint is a namespace in which processes run.
type endpoint struct {
	name string
	ns   *netns.NS
}

// Name implements platform.Endpoint.
func (e *endpoint) Name() string { return e.name }

// NetNS implements platform.NetNSer.
func (e *endpoint) NetNS() string { return e.ns.Path() }

// Start implements platform.Endpoint. The process ends with the lab at the latest.
func (e *endpoint) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	path := c.Path
	if path == platform.Self {
		path = "/proc/self/exe"
	}
	p := &process{cmd: exec.Command(path, c.Args...), done: make(chan struct{})}
	p.cmd.Env = append(environ(), c.Env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.Foreground {
		// A shell sees process groups of its own PID namespace only, so it gets one
		// that it can see, and with it the terminal.
		p.cmd.SysProcAttr.Foreground = c.Stdin == os.Stdin && term.IsTerminal(int(os.Stdin.Fd()))
	}
	var err error
	if c.Stdin == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if c.Stdout == nil && err == nil {
		err = p.pipeStdout()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: start %s: %w", e.name, c.Path, err)
	}
	if c.Stderr == nil {
		p.cmd.Stderr = &p.stderr
	}
	err = ctx.Err()
	if err == nil {
		err = netns.Do(e.NetNS(), p.cmd.Start)
	}
	p.closeWriteEnd()
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("%s: start %s: %w", e.name, c.Path, err)
	}
	go p.wait()
	return p, nil
}

// environ is the environment without the mark of the process inside, so that
// nettoll can be run within a lab's shell.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, insideEnv+"=")
	})
}

// process is a running command.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File // read end; unlike exec.StdoutPipe it outlives Wait, so that nothing unread is lost
	write  *os.File
	stderr tail
	done   chan struct{}
	err    error
}

func (p *process) pipeStdout() (err error) {
	p.stdout, p.write, err = os.Pipe()
	p.cmd.Stdout = p.write
	return err
}

func (p *process) closeWriteEnd() {
	if p.write != nil {
		p.write.Close()
	}
}

// closePipes closes what is here of a process that could not be started.
func (p *process) closePipes() {
	if p.stdin != nil {
		p.stdin.Close()
	}
	if p.stdout != nil {
		p.stdout.Close()
	}
}

func (p *process) wait() {
	p.err = p.cmd.Wait()
	if p.err != nil {
		if last := p.stderr.String(); last != "" {
			p.err = fmt.Errorf("%w: %s", p.err, strings.ReplaceAll(last, "\n", " | "))
		}
	}
	close(p.done)
}

// PID implements platform.Process.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Stdin implements platform.Process.
func (p *process) Stdin() io.WriteCloser { return p.stdin }

// Stdout implements platform.Process.
func (p *process) Stdout() io.Reader {
	if p.stdout == nil {
		return nil
	}
	return p.stdout
}

// Stderr implements platform.Process.
func (p *process) Stderr() string { return p.stderr.String() }

// Wait implements platform.Process.
func (p *process) Wait() error {
	<-p.done
	return p.err
}

// Kill implements platform.Process. What the process has started dies with it:
// it could hold the process' standard error open, which Wait waits for.
func (p *process) Kill() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	_ = unix.Kill(-p.PID(), unix.SIGKILL) // its process group; fails where nobody is left in it
	<-p.done
	return err
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 2 << 10 // bytes

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if extra := len(t.b) - tailSize; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
