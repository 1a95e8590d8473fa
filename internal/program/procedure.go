package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"nettoll/agent"
)

// Procedure is the work of a client that is more than one run of a program. A tool has agents serve
// it under its own name, and describes the work in the params.
type Procedure[Params any] func(ctx context.Context, c *Course, params Params) (Output, error)

// Handler returns the agent's half of a procedure.
func (do Procedure[Params]) Handler() agent.Handler {
	return agent.Typed(func(ctx context.Context, p procedureParams) (runResult, error) {
		var params Params
		if err := json.Unmarshal(p.Params, &params); err != nil {
			return runResult{}, fmt.Errorf("decode the client's task: %w", err)
		}
		return follow(ctx, p.runParams, func(ctx context.Context, c *Course) (Output, error) { return do(ctx, c, params) })
	})
}

// procedureParams is the request that starts a client with a procedure.
type procedureParams struct {
	runParams
	Params json.RawMessage
}

// Course is the sequence of programs that a client runs, and accounts for their CPU time.
type Course struct {
	Command Command // the client's, for the procedure to run with changes
	Started time.Time

	bound bool
	ended chan struct{} // closed when the last program has ended

	mu   sync.Mutex
	sum  usage  // of the programs that have ended
	last *child // the program that is running
}

// Run runs a program to its end. A failure is an error that gives the reason in the program's own
// words.
func (c *Course) Run(ctx context.Context, command Command) (Output, error) {
	o, err := c.once(ctx, command)
	return o, good(command, o, err)
}

// once runs a program to its end, whether it succeeds or fails.
func (c *Course) once(ctx context.Context, command Command) (Output, error) {
	k, err := launch(command)
	if err != nil {
		return Output{}, err
	}
	c.enter(k)
	return c.finish(ctx, k, command)
}

func good(command Command, o Output, err error) error {
	if err == nil && o.Status != 0 {
		err = fmt.Errorf("%s: %s", command.Path, o.Why())
	}
	return err
}

// RunIn runs a program in a directory of its own in memory, which contains the files, and calls
// look with the directory when the program has ended.
func (c *Course) RunIn(ctx context.Context, command Command, files map[string]File, look func(dir string) error) (Output, error) {
	if files == nil {
		files = map[string]File{}
	}
	k, err := keep(ctx, command, Place{Files: files}, c.bound, true)
	if err != nil {
		return Output{}, err
	}
	c.enter(k)
	select {
	case <-k.kept.Ended():
	case <-ctx.Done():
	}
	var seen error
	if ctx.Err() == nil {
		seen = look(k.kept.Room())
	}
	k.kept.Release()
	o, err := c.finish(ctx, k, command)
	if err = good(command, o, err); err == nil && seen != nil {
		err = fmt.Errorf("%s: %w", command.Path, seen)
	}
	return o, err
}

func (c *Course) enter(k *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = k
}

// finish waits for the end of the running program.
func (c *Course) finish(ctx context.Context, k *child, command Command) (Output, error) {
	err := k.await(ctx)
	select {
	case <-k.done:
	default: // it hangs in the kernel
		return Output{}, fmt.Errorf("%s: %w", command.Path, err)
	}
	c.mu.Lock()
	c.sum, c.last = c.sum.plus(k.last), nil
	c.mu.Unlock()
	if err != nil {
		if said := k.output; said.Stderr+said.Stdout != "" {
			err = errors.Join(err, errors.New(said.Why()))
		}
		return k.output, fmt.Errorf("%s: %w", command.Path, err)
	}
	return k.output, nil
}

// used returns the CPU time of all programs that the client has run so far.
func (c *Course) used() usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return c.sum
	}
	return c.sum.plus(c.last.used())
}

func (u usage) plus(v usage) usage {
	return usage{u.user + v.user, u.system + v.system, u.reaped + v.reaped}
}

// moved returns an error if the program that is running was taken from its CPUs.
func (c *Course) moved() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return nil
	}
	return c.last.moved()
}

func (c *Course) over() <-chan struct{} { return c.ended }

// follow runs a client to its end, within its limit, and watches its CPU time.
func follow(ctx context.Context, p runParams, do func(context.Context, *Course) (Output, error)) (runResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.Limit, fmt.Errorf("still running after %v", p.Limit.Round(time.Second/10)))
	defer cancel()
	c := &Course{Command: p.Command, Started: time.Now(), bound: p.Bound, ended: make(chan struct{})}
	var used cpuTime
	var moved error
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		used, _, moved = between(ctx, c, c.Started, p.Window)
	}()
	out, err := do(ctx, c)
	close(c.ended)
	if err != nil {
		return runResult{}, err
	}
	if <-watched; moved != nil {
		return runResult{}, moved
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // every kernel has it
	return runResult{Output: out, CPU: used, Started: c.Started, Boot: string(boot)}, nil
}
