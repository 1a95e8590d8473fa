package program

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"nettoll/agent"
)

// Methods of the agent.
const (
	methodServe   = "program.serve"   // serveParams → nothing
	methodObserve = "program.observe" // observeParams → cpuTime
	methodStop    = "program.stop"    // stopParams → Output
	methodRun     = "program.run"     // runParams → runResult
)

type serveParams struct {
	Server  int // by which it is called from then on; no other of the agent's has it
	Command Command
	Listen  []Port
	Limit   time.Duration // until it listens
}

type observeParams struct {
	Server int
	Window window
}

type stopParams struct {
	Server int
	Kill   bool
}

type runParams struct {
	Command Command
	Window  window
	Limit   time.Duration // of its whole life
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
func (h *house) serve(ctx context.Context, p serveParams) (struct{}, error) {
	if err := free(p.Listen); err != nil {
		return struct{}{}, err
	}
	k, err := launch(p.Command)
	if err != nil {
		return struct{}{}, err
	}
	h.mu.Lock()
	h.all[p.Server] = k
	h.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, p.Limit, fmt.Errorf("no port was opened within %v", p.Limit))
	defer cancel()
	if err := listening(ctx, p.Listen, k.done); err != nil {
		k.stop(syscall.SIGTERM)
		h.remove(p.Server)
		if k.output.Stderr+k.output.Stdout != "" {
			return struct{}{}, fmt.Errorf("%s: %w: %s", p.Command.Path, err, k.output.Why())
		}
		return struct{}{}, fmt.Errorf("%s: %w", p.Command.Path, err)
	}
	return struct{}{}, nil
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
	return k.between(ctx, time.Now(), p.Window), nil
}

func (h *house) stop(_ context.Context, p stopParams) (Output, error) {
	k := h.remove(p.Server)
	if k == nil {
		return Output{}, fmt.Errorf("no server %d", p.Server)
	}
	select {
	case <-k.done:
		if k.output.Status < 0 { // its clients may not have noticed
			return k.output, fmt.Errorf("%s: %s", k.cmd.Path, k.output.Why())
		}
	default:
	}
	sig := syscall.SIGTERM
	if p.Kill {
		sig = syscall.SIGKILL
	}
	k.stop(sig)
	return k.output, nil
}

func run(ctx context.Context, p runParams) (runResult, error) {
	k, err := launch(p.Command)
	if err != nil {
		return runResult{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Limit, fmt.Errorf("still running after %v", p.Limit.Round(time.Second/10)))
	defer cancel()
	used := make(chan cpuTime, 1)
	go func() { used <- k.between(ctx, k.started, p.Window) }()
	if err := k.await(ctx); err != nil {
		if said := k.output; said.Stderr+said.Stdout != "" {
			err = errors.Join(err, errors.New(said.Why()))
		}
		return runResult{}, fmt.Errorf("%s: %w", p.Command.Path, err)
	}
	return runResult{Output: k.output, CPU: <-used, Started: k.started}, nil
}

// between is the CPU time of the program in a window that begins Lead after start.
// The timers can be late by a scheduling delay, so what was used between the two
// readings is scaled to the window. A program that ends early has used what it has.
func (k *child) between(ctx context.Context, start time.Time, w window) cpuTime {
	k.sleep(ctx, time.Until(start.Add(w.Lead)))
	from, opened := k.used(), time.Now()
	k.sleep(ctx, time.Until(start.Add(w.Lead+w.Length)))
	to, closed := k.used(), time.Now()
	scale := 1.0
	if seen := closed.Sub(opened); seen > w.Length {
		scale = w.Length.Seconds() / seen.Seconds()
	}
	return cpuTime{User: max(0, to.user-from.user) * scale, System: max(0, to.system-from.system) * scale}
}

func (k *child) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-k.done:
	case <-ctx.Done():
	}
}
