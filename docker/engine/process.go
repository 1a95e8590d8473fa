package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"nettoll/internal/await"
	"nettoll/internal/nsexec"
	"nettoll/platform"
)

// Start implements platform.Endpoint, as docker exec does.
func (c *Container) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	path := cmd.Path
	if path == platform.Self {
		path = self
	}
	fail := func(err error) (platform.Process, error) {
		return nil, fmt.Errorf("%s: start %s: %w", c.name, cmd.Path, c.explained(ctx, err))
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
	s.ID = state.PID // on the engine's host
	return s, nil
}

// ended returns how a process that was started in the container ended.
func (c *Container) ended(exec string, age int) error {
	ctx, cancel := c.engine.asking()
	defer cancel()
	var state client.ExecInspectResult
	var err error
	late := await.Until(ctx, 0, pause, func(ctx context.Context) (missing, _ error) {
		state, err = c.engine.Client.ExecInspect(ctx, exec, client.ExecInspectOptions{})
		if state.Running {
			missing = errors.New("it has not ended")
		}
		return missing, err
	})
	c.engine.heard(err)
	switch {
	case err == nil && late != nil:
		err = errors.New("the engine broke off the connection")
	case err == nil && state.ExitCode == 0:
		return nil
	case err == nil:
		err = fmt.Errorf("exit status %d", state.ExitCode)
	}
	if how := c.ending(age, 1); how != nil {
		return how
	}
	return brief(err)
}

// destroy ends all processes in the container: the engine has no way to end a single one.
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

// stream is a process in a container, with the connection to its standard streams.
type stream struct {
	*nsexec.Life
	conn   client.HijackedResponse
	engine *Engine
	kill   func() error
}

// stream returns the process behind a connection. status returns how it ended.
func (c *Container) stream(conn client.HijackedResponse, cmd platform.Command, status func() error) *stream {
	s := &stream{Life: nsexec.NewLife(), conn: conn, engine: c.engine, kill: c.destroy}
	if cmd.Stdin == nil {
		s.In = input{&s.conn}
	} else {
		go func() {
			_, _ = io.Copy(s.conn.Conn, cmd.Stdin)
			_ = s.conn.CloseWrite()
		}()
	}
	out, errs := cmd.Stdout, cmd.Stderr
	var pipe io.WriteCloser
	if out == nil {
		s.Out, pipe = buffered()
	}
	if errs == nil {
		errs = &s.Errors
	}
	if pipe != nil {
		out = &opening{to: pipe, errs: errs}
	}
	go func() {
		_, err := stdcopy.StdCopy(out, errs, s.conn.Reader)
		if pipe != nil {
			pipe.Close() // Wait reports how it ended
		}
		s.conn.Close()
		if how := status(); how != nil {
			err = how
		} else {
			err = brief(err)
		}
		s.End(err)
	}()
	return s
}

// buffered returns a pipe of the kernel, which buffers the output of a process while nobody reads it, as
// for processes of this machine; or one without a buffer if this process has too many files open.
func buffered() (io.ReadCloser, io.WriteCloser) {
	r, w, err := os.Pipe()
	if err != nil {
		return io.Pipe()
	}
	return r, w
}

// opening checks the first bytes of a process's output: if a process could not be started, the engine
// writes the reason there, and it belongs in the errors.
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

// input is the writing half of a connection.
type input struct{ conn *client.HijackedResponse }

func (i input) Write(b []byte) (int, error) { return i.conn.Conn.Write(b) }
func (i input) Close() error                { return i.conn.CloseWrite() }

// killTime is how long the engine may take to end a process or container.
const killTime = 10 * time.Second

// unreadTime is how long the output of a killed process waits for a reader.
const unreadTime = 5 * time.Second

// unread discards output that nobody reads, which would block the end for ever.
func (s *stream) unread() {
	if s.Out != nil {
		s.Out.Close()
	}
}

// Kill implements platform.Process. If the engine does not end the process, Kill closes the connection. A private engine ends soon,
// and the process with it.
func (s *stream) Kill() error {
	if s.Ended() {
		return nil
	}
	err := s.kill()
	for _, wait := range []time.Duration{unreadTime, killTime} {
		if err != nil {
			break
		}
		select {
		case <-s.Over():
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
	<-s.Over()
	if s.engine.private {
		s.engine.sick.Store(true)
		return nil
	}
	return fmt.Errorf("docker: kill a process: %w", err)
}
