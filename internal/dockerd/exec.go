package dockerd

import (
	"context"
	"errors"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

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
	s := open(conn.HijackedResponse, cmd, func() error { return c.ended(made.ID, age) })
	s.kill = c.destroy
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
	state, err := c.engine.Client.ExecInspect(ctx, exec, client.ExecInspectOptions{})
	for err == nil && state.Running && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
		state, err = c.engine.Client.ExecInspect(ctx, exec, client.ExecInspectOptions{})
	}
	c.engine.heard(err)
	if err == nil && state.Running {
		err = errors.New("the engine broke the connection off")
	}
	if err == nil && state.ExitCode == 0 {
		return nil
	}
	if how := c.fate(age); how != nil {
		return how
	}
	if err != nil {
		return brief(err)
	}
	return fmt.Errorf("exit status %d", state.ExitCode)
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
