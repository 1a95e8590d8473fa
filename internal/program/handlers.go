package program

import (
	"cmp"
	"context"
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
	methodBuffers = "program.buffers" // buffersParams → granted
	methodSum     = "program.sum"     // sumParams → string
	methodSay     = "program.say"     // sayParams → string
)

type serveParams struct {
	Server  int // its number in later calls; unique within the agent
	Command Command
	Place   Place
	Listen  []Port
	Bound   bool          // all processes at this end end with nettoll, however that ends
	Open    bool          // processes outside this run can reach a server at this end
	Limit   time.Duration // until it listens
}

// served reports that a server is ready, or what it needs that is missing here.
type served struct{ Missing *platform.Missing }

type observeParams struct {
	Server int
	Window window
}

type stopParams struct {
	Server int
	Ending syscall.Signal
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
	Boot    string // the kernel's id of the boot of the machine whose clock that is
}

// window is when a program measures, relative to its start.
type window struct{ Lead, Length time.Duration }

// cpuTime is CPU time in the window, in seconds.
type cpuTime struct{ User, System float64 }

// Handlers returns the agent's half.
func Handlers() map[string]agent.Handler {
	h := &servers{all: map[int]*child{}}
	return map[string]agent.Handler{
		methodServe:   agent.Typed(h.serve),
		methodObserve: agent.Typed(h.observe),
		methodStop:    agent.Typed(h.stop),
		methodRun:     agent.Typed(run),
		methodBuffers: agent.Typed(buffers),
		methodSum:     agent.Typed(sum),
		methodSay:     agent.Typed(say),
	}
}

// servers are the servers of an agent, by their numbers.
type servers struct {
	mu  sync.Mutex
	all map[int]*child
}

// serve starts a server. The cancellation of a request may arrive too late to stop it: the caller
// then stops it by its number, which is known before it is ready.
func (h *servers) serve(ctx context.Context, p serveParams) (served, error) {
	before, err := sockets()
	if err == nil {
		err = free(p.Listen, before)
	}
	if err != nil {
		return served{}, err
	}
	if len(p.Place.Hold) > 0 && !p.Open && keeper.CanHold() != nil {
		// It will listen on all addresses, where only the run's own processes can reach it.
		p.Place.Hold, p.Listen = nil, everywhere(p.Listen)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Limit, fmt.Errorf("no port was opened within %v", p.Limit))
	defer cancel()
	k, err := keep(ctx, p.Command, p.Place, p.Bound, false)
	if lacks := platform.Lacks(err); lacks != nil {
		return served{lacks}, nil
	}
	if err != nil {
		return served{}, err
	}
	h.mu.Lock()
	h.all[p.Server] = k
	h.mu.Unlock()
	if err := listening(ctx, p.Listen, before, k.done); err != nil {
		hangs := k.stop(syscall.SIGTERM)
		h.remove(p.Server)
		if hangs != nil {
			return served{}, fmt.Errorf("%s: %w; %w", p.Command.Path, err, hangs)
		}
		if k.output.Stderr+k.output.Stdout != "" {
			return served{}, fmt.Errorf("%s: %w: %s", p.Command.Path, err, k.output.Why())
		}
		return served{}, fmt.Errorf("%s: %w", p.Command.Path, err)
	}
	return served{}, nil
}

func (h *servers) remove(server int) *child {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.all[server]
	delete(h.all, server)
	return k
}

func (h *servers) observe(ctx context.Context, p observeParams) (cpuTime, error) {
	h.mu.Lock()
	k := h.all[p.Server]
	h.mu.Unlock()
	if k == nil {
		return cpuTime{}, fmt.Errorf("no server %d", p.Server)
	}
	used, at, err := between(ctx, k, time.Now(), p.Window)
	h.mu.Lock()
	k.observed = at
	h.mu.Unlock()
	return used, err
}

func (h *servers) stop(_ context.Context, p stopParams) (stopped, error) {
	k := h.remove(p.Server)
	if k == nil {
		return stopped{}, fmt.Errorf("no server %d", p.Server)
	}
	if err := k.stop(cmp.Or(p.Ending, syscall.SIGTERM)); err != nil {
		return stopped{}, err
	}
	if k.broken { // its clients may not have noticed
		return stopped{Output: k.output}, fmt.Errorf("%s: %s", k.path, k.output.Why())
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
	moved() error
	over() <-chan struct{}
}

// readings are those of a meter at both ends of a window.
type readings struct{ from, to usage }

// between returns the CPU time of a meter in a window that begins Lead after start. The timers can
// be late by a scheduling delay, so the CPU time between the two readings is scaled to the window.
// That of a program that ends early is not scaled, nor is what was read in less than half of the
// window: it says too little about the rest. The error says that it was taken from its CPUs.
func between(ctx context.Context, m meter, start time.Time, w window) (cpuTime, readings, error) {
	sleepUntil(ctx, start.Add(w.Lead), m.over())
	from, opened := m.used(), time.Now()
	whole := sleepUntil(ctx, start.Add(w.Lead+w.Length), m.over())
	to, closed := m.used(), time.Now()
	scale := 1.0
	if seen := closed.Sub(opened); seen > w.Length || whole && seen >= w.Length/2 {
		scale = w.Length.Seconds() / seen.Seconds()
	}
	return cpuTime{User: max(0, to.user-from.user) * scale, System: max(0, to.system-from.system) * scale}, readings{from, to}, m.moved()
}

// sleepUntil reports whether neither ctx nor the watched program has ended by then.
func sleepUntil(ctx context.Context, then time.Time, over <-chan struct{}) bool {
	select {
	case <-time.After(time.Until(then)):
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}
