// Package qperf drives qperf.
//
// What one should know of its figures: it cannot leave out a warm-up; it sees time
// in ticks of 10 ms, so that a throughput over a second is known to 1 %; of latency
// it tells the mean only, and of half the way, which is doubled here; its requests
// and responses are 1 byte each, since it has no two sizes; its udp_lat waits for a
// datagram that is lost until the time is over, and counts that as latency.
//
// A message size is what qperf calls msg_size, of tcp_bw and udp_bw. Its sweeps over
// it, such as msg_size:1:64K:*2, are sweeps of the suite here.
package qperf

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

// Name is qperf's name among the tools.
const Name = "qperf"

// known is the version whose output the parser was written for.
const known = "0.4.11"

// Tool implements workload.Tool.
type Tool struct{ paths program.Paths }

// New returns the tool. paths can say where qperf is.
func New(paths program.Paths) Tool { return Tool{paths} }

var (
	_ workload.Tool   = Tool{}
	_ workload.Prober = Tool{}
	_ workload.Packer = Tool{}
	_ workload.Roamer = Tool{}
)

// Pack implements workload.Packer.
func (t Tool) Pack() (workload.Pack, error) { return t.paths.Pack(Name, Name) }

// Roams implements workload.Roamer.
func (Tool) Roams() string { return Name }

// Name implements workload.Tool.
func (Tool) Name() string { return Name }

var saysVersion = regexp.MustCompile(`(?m)^qperf (\d\S*)$`)

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
	for _, t := range tests() {
		all = append(all, workload.Drive{Workload: t.workload, Options: t.honours})
	}
	return all
}

// Run implements workload.Tool. A server of qperf is for one client at a time, so
// that each has one of its own.
func (t Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	qperf, err := t.find()
	if err != nil {
		return workload.Result{}, err
	}
	test, err := testOf(job)
	if err != nil {
		return workload.Result{}, err
	}
	_, window := program.Window(job)
	trial := program.Trial{Window: window}
	for i, p := range job.Pairs {
		trial.Servers = append(trial.Servers, program.Server{
			Endpoint: p.Server,
			Command:  program.Command{Path: qperf, Args: serverArgs(p), CPUs: program.CPUs(job.CPUs.Server, i, 1)},
			Place:    program.Place{Hold: []netip.Addr{p.Listen.Unmap()}},
			Listen:   program.Ports("tcp", []netip.Addr{p.Listen}, p.Own[0]),
		})
		trial.Clients = append(trial.Clients, program.Client{
			Endpoint: p.Client,
			Command:  program.Command{Path: qperf, Args: test.clientArgs(job, p), CPUs: program.CPUs(job.CPUs.Client, i, 1)},
		})
	}
	outcome, err := program.Run(ctx, job, trial)
	if err != nil {
		return workload.Result{}, err
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
	r.Warnings = append(outcome.Warnings, r.Warnings...)
	if job.Warmup > 0 {
		r.Warnings = append(r.Warnings, record.Warning{Code: "no-warmup", Text: fmt.Sprintf(
			"qperf counts from its first moment: the warm-up of %v is not left out", job.Warmup.Round(time.Millisecond))})
	}
	return r, nil
}
