// Package remote uses another machine through an agent that runs there, however it was started: the agent starts further
// processes, whose inputs and outputs it carries over its own, makes network namespaces, and reports the machine's
// addresses. Everything ends with the agent.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// Machine is a machine on which an agent runs that serves Handlers.
type Machine struct {
	name  string // of the host, for errors
	agent *agent.Client
	tools tools
}

// Err returns why the agent has ended, or nil while it runs.
func (m *Machine) Err() error { return m.agent.Err() }

// Close ends the agent, and everything that it has started. It is not an error if the agent has ended already: its calls
// have reported why.
func (m *Machine) Close() error {
	if m.agent.Err() != nil {
		return nil
	}
	return m.agent.Close()
}

// callTime bounds calls that a machine answers at once, over the slowest of connections.
const callTime = 30 * time.Second

// Call calls a method of the machine's own agent, which is root where containers can be made.
func (m *Machine) Call(ctx context.Context, method string, in, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %v", callTime))
	defer cancel()
	return wrap.Error(m.agent.Call(ctx, method, in, out), "%s", m.name)
}

// start starts a process on the machine, in the namespace at space or, if that is empty, in the machine's own. name is
// the endpoint's, for errors.
func (m *Machine) start(ctx context.Context, name, space string, c platform.Command) (platform.Process, error) {
	if c.Foreground {
		return nil, fmt.Errorf("%s: start %s: another machine has no terminal", name, c.Path)
	}
	params := startParams{Name: name, Space: space, Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Err: c.Stderr != nil}
	p := &process{Life: nsexec.NewLife(), machine: m}
	id, err := claim(ctx, m, methodStart, params, m.forget)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: start %s: %w", name, c.Path, context.Cause(ctx))
		}
		return nil, err // the agent's text names the endpoint
	}
	p.id = id
	p.connect(c)
	return p, nil
}

// makeSpaces makes n network namespaces with nothing but lo, which is up, and returns their paths, which only mean
// something to the machine's agent.
func (m *Machine) makeSpaces(ctx context.Context, n int) ([]string, error) {
	paths, err := claim(ctx, m, methodSpaces, n, func(late []string) {
		_ = m.release(context.Background(), late) // fails if the agent has ended
	})
	return paths, wrap.Error(err, "%s", m.name)
}

// claim calls a method that makes something on the machine, and returns what it is. If ctx ends before the answer has come, or
// callTime is over, waive gives that up when it comes: the agent, which cannot know that nobody has taken its answer, would keep it.
func claim[Out any](ctx context.Context, m *Machine, method string, in any, waive func(Out)) (Out, error) {
	var none, made Out
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %v", callTime))
	defer cancel()
	var failed error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		made, failed = agent.Ask[Out](context.Background(), m.agent, method, in)
	}()
	select {
	case <-answered:
		return made, failed
	case <-ctx.Done():
		go func() {
			if <-answered; failed == nil {
				waive(made)
			}
		}()
		return none, fmt.Errorf("agent: call %s: %w", method, context.Cause(ctx))
	}
}

// release gives namespaces up: the kernel removes them with everything in them.
func (m *Machine) release(ctx context.Context, paths []string) error {
	return m.Call(ctx, methodRelease, paths, nil)
}

// interfacesIn lists the devices of the namespace at space.
func (m *Machine) interfacesIn(ctx context.Context, space string) ([]nl.Interface, error) {
	return agent.Ask[[]nl.Interface](ctx, m, methodDevices, space)
}

// process is a process on a machine.
type process struct {
	*nsexec.Life
	machine *Machine
	id      uint64
}

// connect carries the process's input and outputs, and waits for its end.
func (p *process) connect(c platform.Command) {
	in := &input{p}
	if c.Stdin == nil {
		p.In = in
	} else {
		go func() {
			_, _ = io.Copy(in, c.Stdin) // fails when the process no longer reads
			_ = in.Close()
		}()
	}
	var copying, reading sync.WaitGroup
	if c.Stdout == nil {
		r, w := io.Pipe()
		kept := newBuffer(w)
		p.Out = r
		go kept.pass()
		reading.Go(func() {
			err := p.pump(kept, false)
			if p.machine.Err() != nil { // Wait says so
				err = nil
			}
			kept.end(err)
		})
	} else {
		copying.Go(func() { _ = p.pump(c.Stdout, false) })
	}
	if c.Stderr != nil {
		copying.Go(func() { _ = p.pump(c.Stderr, true) })
	}
	go func() {
		var e ended
		err := p.machine.agent.Call(context.Background(), methodWait, p.id, &e)
		_, _ = p.Errors.Write([]byte(e.Stderr))
		// Others that the process has left behind can hold its outputs open.
		late := time.AfterFunc(lastWords, func() { p.machine.forget(p.id) })
		copying.Wait()
		late.Stop()
		switch gone := p.machine.Err(); {
		case gone != nil:
			err = fmt.Errorf("its machine is lost: %w", gone)
		case err == nil && e.Error != "":
			err = errors.New(e.Error)
		}
		p.End(err)
		reading.Wait()
		p.machine.forget(p.id)
	}()
}

// lastWords is how long the outputs of a process may still be copied after it has ended.
var lastWords = callTime

// forget gives up the outputs of a process, which is killed if it still runs.
func (m *Machine) forget(id uint64) {
	_ = m.Call(context.Background(), methodForget, id, nil) // fails if the agent has ended
}

// pump copies an output of the process until it ends.
func (p *process) pump(to io.Writer, errs bool) error {
	for {
		var o output
		if err := p.machine.agent.Call(context.Background(), methodRead, readParams{p.id, errs}, &o); err != nil {
			return err
		}
		if _, err := to.Write(o.Data); err != nil {
			return err
		}
		if o.Ended {
			return nil
		}
	}
}

// input is the standard input of a process.
type input struct{ p *process }

// Write implements io.Writer. It returns when the process has the data, or the pipe to it.
func (i *input) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), most)]
		if err := i.p.machine.agent.Call(context.Background(), methodWrite, writeParams{i.p.id, part}, nil); err != nil {
			return n, err
		}
		n, b = n+len(part), b[len(part):]
	}
	return n, nil
}

// Close implements io.Closer.
func (i *input) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return i.p.machine.agent.Call(ctx, methodShut, i.p.id, nil)
}

// Kill implements platform.Process. A process whose agent has ended has ended with it.
func (p *process) Kill() error {
	if p.Ended() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	err := p.machine.agent.Call(ctx, methodKill, p.id, nil)
	if p.machine.agent.Err() != nil {
		err = nil
	}
	if err == nil {
		<-p.Over()
	}
	return err
}
