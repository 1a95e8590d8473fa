// Package netperf drives netperf: its omni tests, with output selectors, so that
// every figure comes with its name.
//
// What one should know of its figures: it cannot leave out a warm-up; latencies are
// whole microseconds, but for the mean; a request in a datagram that is lost stops
// UDP_RR for the rest of its time, which makes the trial fail; and it resolves an
// address only where there is one of its family beside the loopback's.
package netperf

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// Name is netperf's name among the tools.
const Name = "netperf"

// server is the program at the other end.
const server = "netserver"

// known is the version whose output the parser was written for.
const known = "2.7.0"

// Tool implements workload.Tool.
type Tool struct{ paths program.Paths }

// New returns the tool. paths can say where netperf and netserver are.
func New(paths program.Paths) Tool { return Tool{paths} }

var (
	_ workload.Tool   = Tool{}
	_ workload.Prober = Tool{}
	_ workload.Packer = Tool{}
	_ workload.Roamer = Tool{}
)

// Pack implements workload.Packer.
func (t Tool) Pack() (workload.Pack, error) { return t.paths.Pack(Name, Name, server) }

// Roams implements workload.Roamer.
func (Tool) Roams() string { return server }

// Name implements workload.Tool.
func (Tool) Name() string { return Name }

var saysVersion = regexp.MustCompile(`(?m)^Netperf version (\d[^\s]*)`)

// Version implements workload.Tool.
func (t Tool) Version(ctx context.Context) (string, error) {
	path, err := t.find(Name)
	if err != nil {
		return "", err
	}
	return program.Version(ctx, path, "-V", saysVersion)
}

// Probe implements workload.Prober.
func (t Tool) Probe(ctx context.Context) error {
	if _, err := t.find(server); err != nil {
		return err
	}
	_, err := t.Version(ctx)
	return err
}

// find finds a program; Debian has both in one package of its section non-free.
func (t Tool) find(name string) (string, error) { return t.paths.Find(name, Name) }

// Drives implements workload.Tool.
func (Tool) Drives() []workload.Drive {
	var all []workload.Drive
	for _, t := range tests() {
		all = append(all, workload.Drive{Workload: t.workload, Options: t.honours})
	}
	return all
}

// Run implements workload.Tool.
func (t Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	netperf, err := t.find(Name)
	if err != nil {
		return workload.Result{}, err
	}
	netserver, err := t.find(server)
	if err != nil {
		return workload.Result{}, err
	}
	test, err := testOf(job)
	if err != nil {
		return workload.Result{}, err
	}
	_, window := program.Window(job)
	trial := program.Trial{Window: window, Tail: test.tail}
	for i, p := range job.Pairs {
		trial.Servers = append(trial.Servers, program.Server{
			Endpoint: p.Server,
			Command:  program.Command{Path: netserver, Args: serverArgs(p), CPUs: program.CPUs(job.CPUs.Server, i, 1)},
			Place:    program.Place{Hold: []netip.Addr{p.Listen.Unmap()}},
			Listen:   program.Ports("tcp", []netip.Addr{p.Listen}, p.Own[0]),
		})
		trial.Clients = append(trial.Clients, program.Client{
			Endpoint: p.Client,
			Command:  program.Command{Path: netperf, Args: test.clientArgs(job, p), CPUs: program.CPUs(job.CPUs.Client, i, 1)},
		})
	}
	outcome, err := program.Run(ctx, job, trial)
	if err != nil {
		return workload.Result{}, explain(err, job)
	}
	var all []figures
	for i, o := range outcome.Clients {
		f, err := test.parse(o.Stdout, job)
		if err != nil {
			return workload.Result{}, fmt.Errorf("client %s: %w", job.Pairs[i].Client.Name(), err)
		}
		all = append(all, f)
	}
	r := test.result(job, all)
	r.Client, r.Server = outcome.Client, outcome.Server
	r.Warnings = outcome.Warnings
	if job.Warmup > 0 {
		r.Warnings = append(r.Warnings, record.Warning{Code: "no-warmup", Text: fmt.Sprintf(
			"netperf counts from its first moment: the warm-up of %v is not left out", job.Warmup.Round(time.Millisecond))})
	}
	return r, nil
}
