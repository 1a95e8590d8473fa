package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"nettoll/agent"
	"nettoll/internal/atonce"
	"nettoll/internal/wrap"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// Trial is the set of programs of one trial.
type Trial struct {
	Servers []Server
	Clients []Client // one for each pair of the job, in their order
	// Lead is when the clients begin to measure, from their start, and Window for how long.
	Lead, Window time.Duration
	// Tail is how long the clients may live after the window, in addition to Grace.
	Tail time.Duration
	// Explain finds the reason for a client's failure in its output, or returns "". Without it the last lines
	// are quoted.
	Explain func(stdout string) string
	// Alone says that the programs need no files of their machine but their libraries.
	Alone bool
	// Programs are those with versions, by their paths here: another program that an endpoint has in place of one is asked
	// for its version.
	Programs map[string]Program
}

// Server is a program that is started before the clients. Equal servers in one endpoint are started once.
type Server struct {
	Endpoint platform.Endpoint
	Command  Command
	Place    Place
	Listen   []Port // it is ready when these are open, and may listen nowhere else
	// Ending is the signal that asks it to end; 0 is SIGTERM. SIGKILL ends it at once, without asking.
	Ending syscall.Signal
}

// same reports whether two servers are equal except for their CPUs.
func (s Server) same(t Server) bool {
	s.Command.CPUs, t.Command.CPUs = nil, nil
	return s.Endpoint == t.Endpoint && reflect.DeepEqual(s, t)
}

// Client is a program that ends by itself, or a procedure that runs it.
type Client struct {
	Endpoint platform.Endpoint
	Command  Command
	// Procedure is the name under which its agent serves the procedure; empty means the program alone. Params
	// are the procedure's parameters.
	Procedure string
	Params    any
}

// Outcome is the result of running a trial's programs.
type Outcome struct {
	Clients  []Output // in the order of the pairs
	Servers  []Output // of the distinct servers, in the order of Trial.Servers
	ServerOf []int    // index into Servers of each of Trial.Servers
	Window   time.Duration
	Client   record.ProcessCPU // in the window, of all clients
	Server   record.ProcessCPU
	Warnings []record.Warning
}

const (
	// Grace is how long a program may take beyond the requested time.
	Grace = 10 * time.Second
	// listenTime bounds how long a server may take until it listens: some write a database before that.
	listenTime = time.Minute
	// asynchrony is the share of the window by which the starts of clients may differ.
	asynchrony = 0.1
)

// Run starts the servers and, when all of them listen, all clients at once. It returns when all clients have
// ended and no program is left. A client whose exit status reports a failure makes the trial fail.
func Run(ctx context.Context, job workload.Job, t Trial) (Outcome, error) {
	if len(t.Clients) == 0 {
		return Outcome{}, errors.New("no clients")
	}
	r := &running{agents: map[platform.Endpoint]*agent.Client{}, programs: t.Programs, asked: map[asked]bool{}}
	defer r.dismiss()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.Clients = slices.Clone(t.Clients)
	results, err := r.drive(ctx, job, t)
	outputs, stopErr := r.stop(ctx)
	if err = errors.Join(err, r.failed, stopErr); err != nil {
		return Outcome{}, err
	}
	return r.outcome(job, t, results, outputs), nil
}

// drive starts everything, and returns when all clients have ended.
func (r *running) drive(ctx context.Context, job workload.Job, t Trial) ([]runResult, error) {
	for _, s := range t.Servers {
		if err := r.serve(ctx, s, t.Alone); err != nil {
			return nil, err
		}
	}
	agents := make([]*agent.Client, len(t.Clients))
	for i := range t.Clients {
		c := &t.Clients[i]
		var err error
		if agents[i], err = r.agent(ctx, c.Endpoint); err == nil {
			c.Command, err = r.command(ctx, agents[i], c.Endpoint, c.Command, t.Alone)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.narrow(ctx, job.Options.Window); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	w := window{t.Lead, t.Window}
	watching.Go(func() { job.Watch.Over(ctx, time.Now().Add(w.Lead), w.Length) })
	watching.Go(func() { r.observe(ctx, w) })
	results, err := r.clients(ctx, t, agents)
	if err != nil {
		cancel()
	}
	watching.Wait()
	return results, err
}

// running holds the servers of a trial and the agents in all its endpoints.
type running struct {
	agents   map[platform.Endpoint]*agent.Client
	owned    []*agent.Client
	programs map[string]Program // of the trial
	asked    map[asked]bool     // which versions are known
	servers  []serving
	places   []int // index into servers of each of the trial's servers
	failed   error // of observing

	warnings []record.Warning
}

type serving struct {
	Server
	agent *agent.Client
	id    int
	cpu   cpuTime
}

func (r *running) agent(ctx context.Context, e platform.Endpoint) (*agent.Client, error) {
	if a := r.agents[e]; a != nil {
		return a, nil
	}
	var a *agent.Client
	var err error
	if has, ok := e.(workload.Agenter); ok {
		a, err = has.Agent(ctx)
	} else if a, err = agent.Start(ctx, e); err == nil {
		r.owned = append(r.owned, a)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name(), err)
	}
	r.agents[e] = a
	return a, nil
}

func (r *running) dismiss() {
	for _, a := range r.owned {
		a.Close() // the trial has its results
	}
}

// lastServer numbers the servers of all trials.
var lastServer atomic.Int64

func (r *running) serve(ctx context.Context, s Server, alone bool) error {
	at := slices.IndexFunc(r.servers, func(have serving) bool { return have.same(s) })
	if at >= 0 {
		r.places = append(r.places, at)
		return nil
	}
	a, err := r.agent(ctx, s.Endpoint)
	if err != nil {
		return err
	}
	v := serving{Server: s, agent: a, id: int(lastServer.Add(1))}
	command, err := r.command(ctx, a, s.Endpoint, s.Command, alone)
	if err != nil {
		return fmt.Errorf("server %s: %w", s.Endpoint.Name(), err)
	}
	around := s.Endpoint.Facts().Around
	p := serveParams{v.id, command, s.Place, s.Listen, !around.Outlive, around.Open, listenTime}
	var ready served
	if err := a.Call(ctx, methodServe, p, &ready); err != nil {
		if ctx.Err() != nil { // it may be ready nevertheless, and its answer may have come too late
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenTime)
			defer cancel()
			_ = a.Call(ctx, methodStop, stopParams{v.id, s.Ending}, nil) // fails if it has ended
		}
		return fmt.Errorf("server %s: %w", s.Endpoint.Name(), err)
	}
	if ready.Missing != nil {
		return fmt.Errorf("server %s: %w", s.Endpoint.Name(), ready.Missing.Unsupported(""))
	}
	r.places = append(r.places, len(r.servers))
	r.servers = append(r.servers, v)
	return nil
}

// command returns the command as it is started at an endpoint, to whose machine the program may have to be sent.
func (r *running) command(ctx context.Context, a *agent.Client, e platform.Endpoint, c Command, alone bool) (Command, error) {
	if send := e.Facts().Send; send != nil && filepath.IsAbs(c.Path) {
		var err error
		if c.Sent, err = send(ctx, c.Path, alone); err != nil {
			return c, err
		}
	}
	return c, r.checkVersion(ctx, a, e, c)
}

// observe measures the CPU time of all servers over the window.
func (r *running) observe(ctx context.Context, w window) {
	errs := atonce.Each(-1, r.servers, func(i int, s serving) error {
		return s.agent.Call(ctx, methodObserve, observeParams{s.id, w}, &r.servers[i].cpu)
	})
	if ctx.Err() == nil {
		r.failed = errors.Join(errs...)
	}
}

// clients runs all clients at once. The first failure ends the others.
func (r *running) clients(ctx context.Context, t Trial, agents []*agent.Client) ([]runResult, error) {
	limit := t.Lead + t.Window + t.Tail + Grace
	results := make([]runResult, len(t.Clients))
	err := atonce.All(ctx, -1, t.Clients, func(ctx context.Context, i int, c Client) error {
		p := runParams{c.Command, window{t.Lead, t.Window}, limit, !c.Endpoint.Facts().Around.Outlive}
		err := c.call(ctx, agents[i], p, &results[i])
		if o := results[i].Output; err == nil && o.Status != 0 {
			err = fmt.Errorf("%s: %s", c.Command.Path, t.why(o))
		}
		return wrap.Error(err, "client %s", c.Endpoint.Name())
	})
	return results, cmp.Or(context.Cause(ctx), err)
}

// call makes the agent run the client to its end.
func (c Client) call(ctx context.Context, a *agent.Client, p runParams, to *runResult) error {
	if c.Procedure == "" {
		return a.Call(ctx, methodRun, p, to)
	}
	params, err := json.Marshal(c.Params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", c.Procedure, err)
	}
	return a.Call(ctx, c.Procedure, procedureParams{p, params}, to)
}

func (t Trial) why(o Output) string {
	if t.Explain != nil {
		if why := t.Explain(o.Stdout); why != "" {
			return why
		}
	}
	return o.Why()
}

// stop ends all servers, and returns their output.
func (r *running) stop(ctx context.Context) (outputs []Output, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenTime)
	defer cancel()
	outputs = make([]Output, len(r.servers))
	for i, s := range r.servers {
		var end stopped
		if e := s.agent.Call(ctx, methodStop, stopParams{s.id, s.Ending}, &end); e != nil {
			err = errors.Join(err, fmt.Errorf("server %s: stop: %w", s.Endpoint.Name(), e))
		}
		outputs[i] = end.Output
		r.servers[i].cpu.System += end.Unseen
	}
	return outputs, err
}

func (r *running) outcome(job workload.Job, t Trial, results []runResult, outputs []Output) Outcome {
	o := Outcome{
		Servers: outputs, ServerOf: r.places, Window: t.Window,
		Client: record.ProcessCPU{CPUs: job.CPUs.Client},
		Server: record.ProcessCPU{CPUs: job.CPUs.Server},

		Warnings: r.warnings,
	}
	starts := map[string][]time.Time{} // by machine: the clocks of several may differ by any time
	for _, c := range results {
		o.Clients = append(o.Clients, c.Output)
		o.Client.User += c.CPU.User
		o.Client.System += c.CPU.System
		starts[c.Boot] = append(starts[c.Boot], c.Started)
	}
	for _, s := range r.servers {
		o.Server.User += s.cpu.User
		o.Server.System += s.cpu.System
	}
	var spread time.Duration
	for _, all := range starts {
		spread = max(spread, slices.MaxFunc(all, time.Time.Compare).Sub(slices.MinFunc(all, time.Time.Compare)))
	}
	o.Warnings = append(o.Warnings, record.Warn(spread.Seconds() > asynchrony*t.Window.Seconds(), "not-synchronous",
		"the %d clients started up to %v apart, in a window of %v: for part of the window not all of them ran",
		len(results), spread.Round(time.Millisecond), t.Window)...)
	return o
}
