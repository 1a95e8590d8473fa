// Package sockperf drives sockperf: ping-pong, under-load and throughput.
//
// What one should know of its figures: it knows IPv4 only; it leaves out its first
// 400 ms and its last 50 ms, whatever is asked for, and nothing of throughput; a
// response is as large as its request, and neither is smaller than 14 bytes; a
// request in a datagram that is lost stops ping-pong, which makes the trial fail; it
// takes about 10 MB of memory for each second of ping-pong, at its start.
// Under load a thread of the client spins until the next request is due: with one
// CPU for client and server it is in the way of what it measures. The rate is kept
// by the clock, but latency is counted from when a request was really sent.
//
// Of throughput sockperf prints what was sent. How much of it arrived its server
// says at its end, and that is what counts here.
package sockperf

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"

	"nettoll/internal/program"
	"nettoll/workload"
)

// Name is sockperf's name among the tools.
const Name = "sockperf"

// known is the version whose output the parser was written for.
const known = "3.7"

// Tool implements workload.Tool.
type Tool struct{ paths program.Paths }

// New returns the tool. paths can say where sockperf is.
func New(paths program.Paths) Tool { return Tool{paths} }

var (
	_ workload.Tool   = Tool{}
	_ workload.Prober = Tool{}
	_ workload.Packer = Tool{}
)

// Pack implements workload.Packer.
func (t Tool) Pack() (workload.Pack, error) { return t.paths.Pack(Name, Name) }

// Name implements workload.Tool.
func (Tool) Name() string { return Name }

var saysVersion = regexp.MustCompile(`(?m)^sockperf, version (\d[\d.]*)`)

// Version implements workload.Tool.
func (t Tool) Version(ctx context.Context) (string, error) {
	path, err := t.find()
	if err != nil {
		return "", err
	}
	return program.Version(ctx, path, "--version", saysVersion)
}

// Probe implements workload.Prober.
func (t Tool) Probe(ctx context.Context) error {
	_, err := t.Version(ctx)
	return err
}

func (t Tool) find() (string, error) { return t.paths.Find(Name, Name) }

// Drives implements workload.Tool.
func (Tool) Drives() []workload.Drive {
	var all []workload.Drive
	for _, m := range modes() {
		all = append(all, workload.Drive{Workload: m.workload, Options: m.honours, IPv4Only: true})
	}
	return all
}

// Run implements workload.Tool. A server reads from one TCP connection only, so that
// each client has one of its own.
func (t Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	sockperf, err := t.find()
	if err != nil {
		return workload.Result{}, err
	}
	mode, err := modeOf(job)
	if err != nil {
		return workload.Result{}, err
	}
	trial := program.Trial{Lead: hesitation + mode.cold(), Window: mode.window(job)}
	for i, p := range job.Pairs {
		trial.Servers = append(trial.Servers, program.Server{
			Endpoint: p.Server, Ending: mode.ending(),
			Command: program.Command{
				Path: sockperf, Args: mode.serverArgs(job, p), CPUs: program.CPUs(job.CPUs.Server, i, 1),
			},
			Listen: program.Ports(mode.protocol, []netip.Addr{p.Listen}, p.Own[0]),
		})
		trial.Clients = append(trial.Clients, program.Client{
			Endpoint: p.Client,
			Command: program.Command{
				Path: sockperf, Args: mode.clientArgs(job, p), CPUs: program.CPUs(job.CPUs.Client, i, mode.threads),
			},
		})
	}
	outcome, err := program.Run(ctx, job, trial)
	if err != nil {
		return workload.Result{}, err
	}
	var all []figures
	for i, o := range outcome.Clients {
		var f figures
		if mode.stream() {
			f, err = mode.parseThroughput(o.Stdout, outcome.Servers[i].Stdout, job)
		} else {
			f, err = mode.parseLatency(o.Stdout, job)
		}
		if err != nil {
			return workload.Result{}, fmt.Errorf("client %s: %w", job.Pairs[i].Client.Name(), err)
		}
		all = append(all, f)
	}
	r := mode.result(job, all)
	r.Client, r.Server = outcome.Client, outcome.Server
	r.Warnings = append(outcome.Warnings, r.Warnings...)
	return r, nil
}
