// Package process starts programs of this machine as a platform's processes, in
// any network namespace that a path leads to.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"nettoll/internal/netns"
	"nettoll/platform"
)

// Start runs a command in the network namespace at ns, or in that of this process
// where ns is empty; name is the endpoint's, for errors. The command has env and
// what the command brings besides.
func Start(ctx context.Context, name, ns string, env []string, c platform.Command) (platform.Process, error) {
	path := c.Path
	if path == platform.Self {
		path = "/proc/self/exe"
	}
	p := &process{cmd: exec.Command(path, c.Args...), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir = slices.Concat(env, c.Env), c.Dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = lastWords
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
		return nil, fmt.Errorf("%s: start %s: %w", name, c.Path, err)
	}
	if c.Stderr == nil {
		p.cmd.Stderr = &p.stderr
	}
	err = ctx.Err()
	if err == nil {
		err = netns.Do(ns, p.cmd.Start)
	}
	p.closeWriteEnd()
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("%s: start %s: %w", name, c.Path, err)
	}
	go p.wait()
	return p, nil
}

// process is a running command.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File // read end; unlike exec.StdoutPipe it outlives Wait, so that nothing unread is lost
	write  *os.File
	stderr Tail
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

// lastWords is how long what a process has left behind may hold its outputs open when the
// process itself has ended.
const lastWords = 2 * time.Second

// deathTime is how long a process that was killed may take to end. What its last reference
// frees can take seconds.
const deathTime = time.Minute

func (p *process) wait() {
	if p.err = p.cmd.Wait(); errors.Is(p.err, exec.ErrWaitDelay) {
		p.err = nil // it ended well
	}
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
	select {
	case <-p.done:
		return err
	case <-time.After(deathTime): // it hangs in the kernel
		return errors.Join(err, fmt.Errorf("process %d did not end within %v of being killed", p.PID(), deathTime))
	}
}
