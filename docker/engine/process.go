package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"nettoll/internal/process"
	"nettoll/platform"
)

// Start implements platform.Endpoint, as docker exec does.
func (c *Container) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	path := cmd.Path
	if path == platform.Self {
		path = self
	}
	fail := func(err error) (platform.Process, error) {
		return nil, fmt.Errorf("%s: start %s: %w", c.name, cmd.Path, c.because(ctx, err))
	}
	cl := c.engine.Client
	made, err := cl.ExecCreate(ctx, c.id, client.ExecCreateOptions{
		AttachStdin: true, AttachStdout: true, AttachStderr: true, Env: cmd.Env, WorkingDir: cmd.Dir,
		Cmd: append([]string{path}, cmd.Args...),
	})
	if err != nil {
		return fail(err)
	}
	conn, err := cl.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return fail(err)
	}
	age := max(c.age, c.engine.deaths.age())
	s := c.stream(conn.HijackedResponse, cmd, func() error { return c.ended(made.ID, age) })
	state, err := cl.ExecInspect(ctx, made.ID, client.ExecInspectOptions{})
	if err != nil {
		conn.Close()
		return fail(err)
	}
	s.pid = state.PID
	return s, nil
}

// ended says how a process that was started in the container ended.
func (c *Container) ended(exec string, age int) error {
	ctx, cancel := c.engine.asking()
	defer cancel()
	var state client.ExecInspectResult
	var err error
	late := until(ctx, func() (bool, error) {
		state, err = c.engine.Client.ExecInspect(ctx, exec, client.ExecInspectOptions{})
		return !state.Running, err
	})
	c.engine.heard(err)
	switch {
	case err == nil && late != nil:
		err = errors.New("the engine broke the connection off")
	case err == nil && state.ExitCode == 0:
		return nil
	case err == nil:
		err = fmt.Errorf("exit status %d", state.ExitCode)
	}
	if how := c.fate(age); how != nil {
		return how
	}
	return brief(err)
}

// destroy ends all that runs in the container: the engine knows no way to end one
// process of it.
func (c *Container) destroy() error {
	ctx, cancel := c.engine.asking()
	defer cancel()
	_, err := c.engine.Client.ContainerKill(ctx, c.id, client.ContainerKillOptions{Signal: "KILL"})
	c.engine.heard(err)
	if gone(err) || cerrdefs.IsConflict(err) { // it has ended
		return nil
	}
	return brief(err)
}

// stream is a process in a container, by the connection to its standard streams.
type stream struct {
	conn   client.HijackedResponse
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr process.Tail
	pid    int
	kill   func() error
	done   chan struct{}
	err    error
}

// stream makes a process of a connection. status says how it ended.
func (c *Container) stream(conn client.HijackedResponse, cmd platform.Command, status func() error) *stream {
	s := &stream{conn: conn, kill: c.destroy, done: make(chan struct{})}
	if cmd.Stdin == nil {
		s.stdin = input{&s.conn}
	} else {
		go func() {
			_, _ = io.Copy(s.conn.Conn, cmd.Stdin)
			_ = s.conn.CloseWrite()
		}()
	}
	out, errs := cmd.Stdout, cmd.Stderr
	var pipe io.WriteCloser
	if out == nil {
		s.stdout, pipe = buffered()
	}
	if errs == nil {
		errs = &s.stderr
	}
	if pipe != nil {
		out = &opening{to: pipe, errs: errs}
	}
	go func() {
		_, err := stdcopy.StdCopy(out, errs, s.conn.Reader)
		if pipe != nil {
			pipe.Close() // how it ended is for Wait
		}
		s.conn.Close()
		if s.err = status(); s.err == nil {
			s.err = brief(err)
		}
		if last := s.stderr.String(); s.err != nil && last != "" {
			s.err = fmt.Errorf("%w: %s", s.err, strings.ReplaceAll(last, "\n", " | "))
		}
		close(s.done)
	}()
	return s
}

// buffered is a pipe of the kernel's, which holds what a process says while nobody reads
// it, as that of a process of this machine does; or one that holds nothing, where this
// process has too many files open.
func buffered() (io.ReadCloser, io.WriteCloser) {
	r, w, err := os.Pipe()
	if err != nil {
		return io.Pipe()
	}
	return r, w
}

// opening looks at the first bytes of a process' output: the engine writes there why a
// process could not be started, which belongs to the errors.
type opening struct {
	to, errs io.Writer
	begun    bool
}

func (o *opening) Write(b []byte) (int, error) {
	if !o.begun && bytes.HasPrefix(b, []byte("OCI runtime ")) {
		o.to = o.errs
	}
	o.begun = true
	return o.to.Write(b)
}

// input is a connection's half for writing.
type input struct{ conn *client.HijackedResponse }

func (i input) Write(b []byte) (int, error) { return i.conn.Conn.Write(b) }
func (i input) Close() error                { return i.conn.CloseWrite() }

// PID implements platform.Process: it is the number that the engine's host gives it.
func (s *stream) PID() int { return s.pid }

// Stdin implements platform.Process.
func (s *stream) Stdin() io.WriteCloser { return s.stdin }

// Stdout implements platform.Process.
func (s *stream) Stdout() io.Reader {
	if s.stdout == nil {
		return nil
	}
	return s.stdout
}

// Stderr implements platform.Process.
func (s *stream) Stderr() string { return s.stderr.String() }

// Wait implements platform.Process.
func (s *stream) Wait() error {
	<-s.done
	return s.err
}

// killTime is how long the engine may take to end what it was told to end.
const killTime = 10 * time.Second

// unreadTime is how long the output of a process that was killed waits for a reader.
const unreadTime = time.Second

// unread gives up output that nobody reads, behind which the end would wait for ever.
func (s *stream) unread() {
	if s.stdout != nil {
		s.stdout.Close()
	}
}

// Kill implements platform.Process. Where the engine does not do as it is told, the
// connection is given up.
func (s *stream) Kill() error {
	select {
	case <-s.done:
		return nil
	default:
	}
	err := s.kill()
	for _, wait := range []time.Duration{unreadTime, killTime} {
		if err != nil {
			break
		}
		select {
		case <-s.done:
			return nil
		case <-time.After(wait):
			s.unread()
		}
	}
	if err == nil {
		err = fmt.Errorf("it did not end within %v", unreadTime+killTime)
	}
	s.conn.Close()
	s.unread()
	<-s.done
	return fmt.Errorf("docker: kill a process: %w", err)
}
