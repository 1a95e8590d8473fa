package program

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"nettoll/agent"
	"nettoll/internal/keeper"
	"nettoll/platform"
)

// Methods of the agent.
const (
	methodServe   = "program.serve"   // serveParams → served
	methodObserve = "program.observe" // observeParams → cpuTime
	methodStop    = "program.stop"    // stopParams → stopped
	methodRun     = "program.run"     // runParams → runResult
)

type serveParams struct {
	Server  int // by which it is called from then on; no other of the agent's has it
	Command Command
	Place   Place
	Listen  []Port
	Bound   bool          // all that runs at this end ends with nettoll, however that ends
	Open    bool          // others than this run's processes reach what listens at this end
	Limit   time.Duration // until it listens
}

// served says that a server is ready, or what it would need here.
type served struct{ Missing *missing }

// missing is a platform.Unsupported on its way.
type missing struct{ Feature, Option, Remedy, Seen string }

func (m *missing) unsupported() error {
	return &platform.Unsupported{Feature: m.Feature, Option: m.Option, Remedy: m.Remedy, Err: errors.New(m.Seen)}
}

type observeParams struct {
	Server int
	Window window
}

type stopParams struct {
	Server int
	Ending Ending
}

type stopped struct {
	Output Output
	Unseen float64 // CPU time in the window that its observer could not see, in seconds
}

type runParams struct {
	Command Command
	Window  window
	Limit   time.Duration // of its whole life
	Bound   bool          // see serveParams
}

type runResult struct {
	Output  Output
	CPU     cpuTime
	Started time.Time
}

// window is when a program counts, from now on.
type window struct{ Lead, Length time.Duration }

// cpuTime is CPU time in the window, in seconds.
type cpuTime struct{ User, System float64 }

// Handlers are the agent's half.
func Handlers() map[string]agent.Handler {
	h := &house{all: map[int]*child{}}
	return map[string]agent.Handler{
		methodServe:   agent.Typed(h.serve),
		methodObserve: agent.Typed(h.observe),
		methodStop:    agent.Typed(h.stop),
		methodRun:     agent.Typed(run),
	}
}

// house is the servers of an agent.
type house struct {
	mu  sync.Mutex
	all map[int]*child
}

// serve starts a server. One that was cancelled can have been too late to be told: who
// asked stops it by its number, which it has before it is ready.
func (h *house) serve(ctx context.Context, p serveParams) (served, error) {
	before, err := sockets()
	if err == nil {
		err = free(p.Listen, before)
	}
	if err != nil {
		return served{}, err
	}
	if len(p.Place.Hold) > 0 && !p.Open && keeper.CanHold() != nil {
		// It will listen on all addresses, where nobody but the run's own processes comes.
		p.Place.Hold, p.Listen = nil, everywhere(p.Listen)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Limit, fmt.Errorf("no port was opened within %v", p.Limit))
	defer cancel()
	k, err := keep(ctx, p.Command, p.Place, p.Bound, false)
	if lacks := (*platform.Unsupported)(nil); errors.As(err, &lacks) {
		return served{&missing{lacks.Feature, lacks.Option, lacks.Remedy, fmt.Sprint(lacks.Err)}}, nil
	}
	if err != nil {
		return served{}, err
	}
	h.mu.Lock()
	h.all[p.Server] = k
	h.mu.Unlock()
	if err := listening(ctx, p.Listen, before, k.done); err != nil {
		k.stop(syscall.SIGTERM)
		h.remove(p.Server)
		if k.output.Stderr+k.output.Stdout != "" {
			return served{}, fmt.Errorf("%s: %w: %s", p.Command.Path, err, k.output.Why())
		}
		return served{}, fmt.Errorf("%s: %w", p.Command.Path, err)
	}
	return served{}, nil
}

func (h *house) remove(server int) *child {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.all[server]
	delete(h.all, server)
	return k
}

func (h *house) observe(ctx context.Context, p observeParams) (cpuTime, error) {
	h.mu.Lock()
	k := h.all[p.Server]
	h.mu.Unlock()
	if k == nil {
		return cpuTime{}, fmt.Errorf("no server %d", p.Server)
	}
	used, at := between(ctx, k, time.Now(), p.Window)
	h.mu.Lock()
	k.observed = at
	h.mu.Unlock()
	return used, nil
}

func (h *house) stop(_ context.Context, p stopParams) (stopped, error) {
	k := h.remove(p.Server)
	if k == nil {
		return stopped{}, fmt.Errorf("no server %d", p.Server)
	}
	k.stop(p.Ending.signal())
	if k.broken { // its clients may not have noticed
		return stopped{Output: k.output}, fmt.Errorf("%s: %s", k.cmd.Path, k.output.Why())
	}
	h.mu.Lock()
	at := k.observed
	h.mu.Unlock()
	return stopped{k.output, unseen(at.from, at.to, k.last)}, nil
}

// run runs the program of a client.
func run(ctx context.Context, p runParams) (runResult, error) {
	return follow(ctx, p, func(ctx context.Context, c *Course) (Output, error) { return c.once(ctx, p.Command) })
}

// meter is something that uses CPU time until it is over.
type meter interface {
	used() usage
	over() <-chan struct{}
}

// readings are those of a meter at both ends of a window.
type readings struct{ from, to usage }

// between is the CPU time of a meter in a window that begins Lead after start. The timers
// can be late by a scheduling delay, so what was used between the two readings is scaled to
// the window. A program that ends early has used what it has.
func between(ctx context.Context, m meter, start time.Time, w window) (cpuTime, readings) {
	sleep := func(until time.Time) {
		select {
		case <-time.After(time.Until(until)):
		case <-m.over():
		case <-ctx.Done():
		}
	}
	sleep(start.Add(w.Lead))
	from, opened := m.used(), time.Now()
	sleep(start.Add(w.Lead + w.Length))
	to, closed := m.used(), time.Now()
	scale := 1.0
	if seen := closed.Sub(opened); seen > w.Length {
		scale = w.Length.Seconds() / seen.Seconds()
	}
	return cpuTime{User: max(0, to.user-from.user) * scale, System: max(0, to.system-from.system) * scale}, readings{from, to}
}
