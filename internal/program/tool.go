// Package program is the common skeleton of tools that are programs. A tool is a Tool: the names of
// its programs, the workloads it drives, the arguments of a server and a client, and a parser of
// their output. This package makes the agents of the endpoints start the servers and then all
// clients at once, watches their CPU time over the window, bounds their lives, collects their
// output, and combines the results of the clients. It works wherever an agent runs.
package program

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// Tool is a tool that consists of one program or two, as data: everything that is specific to the
// tool. At returns the workload.Tool, which finds the programs, asks for their versions, starts a
// server and a client for each pair of a job, and combines the results of the clients.
type Tool struct {
	Name     string
	Programs []Program // the client's first, then the server's, if it is a different one
	Drives   []workload.Drive

	// Serves defines which clients share a server.
	Serves Serves
	// Roams: the server cannot be restricted to a listening address, and is held to the Addresses
	// of its Pair.
	Roams bool
	// Server and Client return the programs of a pair. Fields that they leave empty are filled in
	// from the Pair: the endpoints, the paths of the programs, their CPUs, and TCP ports for the
	// server to listen on.
	Server func(Pair) Server
	Client func(Pair) Client

	// Times changes when the clients of a trial measure, and by what time they must have ended. It
	// is given the default: after the warm-up, for the duration of the job, both in whole seconds.
	Times func(workload.Job, *Trial)
	// NoWarmup: clients measure from their first moment, and trials have a warning about it.
	NoWarmup bool
	// Result computes the result of a trial; see Each, and Together, which builds one.
	Result func(workload.Job, Outcome) (workload.Result, error)

	// Explain and Failed are for tools whose errors need an explanation. Explain becomes that of the
	// Trial. Failed takes the error of a trial, and returns a better one, or the same.
	Explain func(stdout string) string
	Failed  func(error, workload.Job) error
	// Find is for a tool whose programs are not in PATH; it may return more programs than are
	// listed.
	Find func(Paths) (Paths, error)
	// Pack is for a tool that needs more in an image than its programs and their libraries.
	Pack func(Paths) (workload.Pack, error)
}

// Program is a program of a tool.
type Program struct {
	Name    string // as in --tool-path
	Package string // of Debian
	Else    string // where it is for users who do not have it in their PATH; may be empty
	// Flag makes it print its version, which is the first group of Says. A program without these
	// has the version of the other.
	Flag string
	Says *regexp.Regexp
	// Oldest is the first version that is supported, such as "3.7"; if empty, any is. Tested are
	// the versions that have transcripts.
	Oldest, Tested string
}

// Serves defines which clients share a server, and on which port.
type Serves int

const (
	OneClient Serves = iota // one client, on the first of its own ports
	Address                 // all clients that come to the address it listens on, on the common port
	Endpoint                // all clients of its endpoint, at any of its addresses, on the common port
)

// At returns the tool with its programs at the given paths, or in PATH.
func (t Tool) At(paths Paths) workload.Tool {
	p := placed{t, paths}
	at := workload.Tool{Name: t.Name, Drives: t.Drives, Version: p.version, Run: p.run, Probe: p.probe, Pack: p.pack, Startup: listenTime}
	if t.Roams {
		at.Roams = t.server().Name
	}
	return at
}

// Names returns the names of the programs, as used by --tool-path.
func (t Tool) Names() []string {
	return record.Each(t.Programs, func(p Program) string { return p.Name })
}

// client and server return the programs of the two ends.
func (t Tool) client() Program { return t.Programs[0] }
func (t Tool) server() Program { return t.Programs[len(t.Programs)-1] }

// placed is a tool together with the paths of its programs.
type placed struct {
	tool  Tool
	paths Paths
}

// probe asks the programs for their versions.
func (p placed) probe(ctx context.Context) error {
	_, err := p.version(ctx)
	return err
}

// find returns the paths of all programs, by name.
func (p placed) find() (Paths, error) {
	if p.tool.Find != nil {
		return p.tool.Find(p.paths)
	}
	found := Paths{}
	for _, f := range p.tool.Programs {
		path, err := p.paths.Find(f)
		if err != nil {
			return nil, err
		}
		found[f.Name] = path
	}
	return found, nil
}

// pack returns the files that the tool needs in an image.
func (p placed) pack() (pack workload.Pack, err error) {
	found, err := p.find()
	if err != nil {
		return pack, err
	}
	if p.tool.Pack != nil {
		return p.tool.Pack(found)
	}
	pack.Programs = record.Each(p.tool.Names(), func(name string) string { return found[name] })
	return pack, nil
}

// run drives a trial; an error begins with the tool's name.
func (p placed) run(ctx context.Context, job workload.Job) (workload.Result, error) {
	found, err := p.find()
	if err != nil {
		return workload.Result{}, err
	}
	r, err := p.tool.run(ctx, job, found)
	if err == nil {
		return r, nil
	}
	err = fmt.Errorf("%s: %w", p.tool.Name, err)
	if p.tool.Failed != nil {
		err = p.tool.Failed(err, job)
	}
	return workload.Result{}, err
}

func (t Tool) run(ctx context.Context, job workload.Job, found Paths) (workload.Result, error) {
	trial, err := t.Trial(job, found)
	if err != nil {
		return workload.Result{}, err
	}
	o, err := Run(ctx, job, trial)
	if err != nil {
		return workload.Result{}, err
	}
	r, err := t.Result(job, o)
	if err != nil {
		return workload.Result{}, err
	}
	r.Warnings = append(r.Warnings, record.Warn(t.NoWarmup && job.Warmup > 0, "no-warmup",
		"%s counts from the start: its figures include the warm-up of %v", t.Name, job.Warmup.Round(time.Millisecond))...)
	return r, nil
}

// Trial returns the servers and clients for a job, with the programs at the given paths.
func (t Tool) Trial(job workload.Job, found Paths) (trial Trial, err error) {
	if !slices.ContainsFunc(t.Drives, func(d workload.Drive) bool { return d.Workload == job.Workload }) {
		return trial, fmt.Errorf("it does not drive %s", job.Workload)
	}
	trial.Explain, trial.Alone = t.Explain, t.Pack == nil
	trial.Programs = map[string]Program{}
	for _, p := range t.Programs {
		trial.Programs[found[p.Name]] = p
	}
	if trial.Lead, trial.Window = Window(job); t.NoWarmup {
		trial.Lead = 0
	}
	if t.Times != nil {
		t.Times(job, &trial)
	}
	password := rand.Text()
	for i := range job.Pairs {
		p := t.Serves.pair(job, i)
		p.Lead, p.Window, p.Found, p.Password = trial.Lead, trial.Window, found, password
		s, c := t.Server(p), t.Client(p)
		s.Endpoint, c.Endpoint = p.Server, p.Client
		s.Command.Path = cmp.Or(s.Command.Path, found[t.server().Name])
		c.Command.Path = cmp.Or(c.Command.Path, found[t.client().Name])
		if s.Command.CPUs = p.ServerCPUs; c.Command.CPUs == nil {
			c.Command.CPUs = p.ClientCPUs
		}
		if s.Listen == nil {
			s.Listen = p.Ports("tcp")
		}
		if t.Roams {
			s.Place.Hold = p.Addresses
		}
		trial.Servers, trial.Clients = append(trial.Servers, s), append(trial.Clients, c)
	}
	return trial, nil
}

// Pair is a client and its server, with the parameters they are started with.
type Pair struct {
	workload.Pair
	Job          workload.Job
	Lead, Window time.Duration // of the trial
	Found        Paths         // of the tool's programs
	Password     string        // made for the trial
	Streams      int           // of the client, at least 1
	ServerCPUs   []int
	ClientCPUs   []int

	// Of the server: the flows of all its clients, and the addresses where their packets arrive,
	// each once.
	Flows     int
	Addresses []netip.Addr
	port      int
}

// Ports returns the ports that the server opens.
func (p Pair) Ports(protocol string) []Port {
	return record.Each(p.Addresses, func(a netip.Addr) Port { return Port{protocol, netip.AddrPortFrom(a, uint16(p.port))} })
}

// Joined returns the addresses that the server listens on, with a separator between them.
func (p Pair) Joined(between string) string {
	return strings.Join(record.Each(p.Addresses, netip.Addr.String), between)
}

// Given returns an option of a program and its value, or nothing if the value is zero.
func Given[V comparable](option string, value V) []string {
	var zero V
	if value == zero {
		return nil
	}
	return []string{option, fmt.Sprint(value)}
}

// Family returns the option that selects the IP version: -4 or -6.
func (p Pair) Family() string {
	if p.Addr.Is4() {
		return "-4"
	}
	return "-6"
}

// pair returns the n-th pair of a job.
func (s Serves) pair(job workload.Job, n int) Pair {
	p := Pair{Pair: job.Pairs[n], Job: job, Streams: max(job.Options.Streams, 1)}
	p.port = p.Port
	if s == OneClient {
		p.port = p.Own[0]
	}
	order, before := n, map[any]bool{}
	client, on := 0, job.Machine(p.Client)
	for i, other := range job.Pairs {
		if i < n && job.Machine(other.Client) == on {
			client++
		}
		if s.together(p.Pair, other, i == n) {
			p.Flows += p.Streams
			p.Addresses = record.AddNew(p.Addresses, other.Listen.Unmap())
		} else if i < n {
			before[other.Server] = true
		}
	}
	if s == Endpoint {
		order = len(before)
	}
	p.ServerCPUs = CPUs(job.CPUs.Server, order, p.Flows)
	p.ClientCPUs = CPUs(job.CPUs.Client, client, p.Streams)
	return p
}

// together reports whether two pairs, which may be the same, share a server.
func (s Serves) together(p, other workload.Pair, same bool) bool {
	one := p.Server == other.Server && p.Port == other.Port
	switch s {
	case Address:
		return one && p.Listen.Unmap() == other.Listen.Unmap()
	case Endpoint:
		return one
	}
	return same
}

// CPUs returns the CPUs where the program of the n-th client on a machine, or its server, may run. A program
// with a single flow gets a CPU of its own, the n-th of the set, as a flow of the engine does; one
// with several flows gets the set.
func CPUs(set []int, n, flows int) []int {
	if len(set) == 0 || flows > 1 {
		return set
	}
	return set[n%len(set) : n%len(set)+1]
}

// WholeSeconds rounds a duration up to whole seconds, at least 1, for programs that do not accept
// fractions.
func WholeSeconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

// Window returns the warm-up and the window of a job in whole seconds, rounded up.
func Window(job workload.Job) (lead, window time.Duration) {
	if job.Warmup > 0 {
		lead = time.Duration(WholeSeconds(job.Warmup)) * time.Second
	}
	return lead, time.Duration(WholeSeconds(job.Duration)) * time.Second
}
