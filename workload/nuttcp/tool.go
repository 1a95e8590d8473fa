// Package nuttcp drives nuttcp.
//
// The receiver reports every second, so that warm-up and tail can be cut off: it
// runs a second longer than it is measured. It has one stream here, since each would
// need a port of its own.
package nuttcp

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"time"

	"nettoll/internal/program"
	"nettoll/workload"
)

// Name is nuttcp's name among the tools.
const Name = "nuttcp"

// known is the version whose output the parser was written for.
const known = "6.1.2"

// Tool implements workload.Tool.
type Tool struct{ paths program.Paths }

// New returns the tool. paths can say where nuttcp is.
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

var saysVersion = regexp.MustCompile(`(?m)^nuttcp-(\d\S*)$`)

// Version implements workload.Tool.
func (t Tool) Version(ctx context.Context) (string, error) {
	path, err := t.find()
	if err != nil {
		return "", err
	}
	return program.Version(ctx, path, "-V", saysVersion)
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
	for _, t := range transfers() {
		all = append(all, workload.Drive{Workload: t.workload, Options: t.honours})
	}
	return all
}

// Run implements workload.Tool. A server that stays in the foreground is for one
// client at a time, so that each has one of its own.
func (t Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	nuttcp, err := t.find()
	if err != nil {
		return workload.Result{}, err
	}
	transfer, err := transferOf(job)
	if err != nil {
		return workload.Result{}, err
	}
	lead, window := program.Window(job)
	trial := program.Trial{Lead: lead, Window: window, Tail: tail}
	for i, p := range job.Pairs {
		trial.Servers = append(trial.Servers, program.Server{
			Endpoint: p.Server,
			Command:  program.Command{Path: nuttcp, Args: serverArgs(p), CPUs: program.CPUs(job.CPUs.Server, i, 1)},
			Place:    program.Place{Hold: []netip.Addr{p.Listen.Unmap()}},
			Listen:   program.Ports("tcp", []netip.Addr{p.Listen}, p.Own[0]),
		})
		trial.Clients = append(trial.Clients, program.Client{
			Endpoint: p.Client,
			Command:  program.Command{Path: nuttcp, Args: transfer.clientArgs(job, p), CPUs: program.CPUs(job.CPUs.Client, i, 1)},
		})
	}
	outcome, err := program.Run(ctx, job, trial)
	if err != nil {
		return workload.Result{}, err
	}
	var all []figures
	for i, o := range outcome.Clients {
		f, err := transfer.parse(o.Stdout, job, int(lead/time.Second), int(window/time.Second))
		if err != nil {
			return workload.Result{}, fmt.Errorf("client %s: %w", job.Pairs[i].Client.Name(), err)
		}
		all = append(all, f)
	}
	r := transfer.result(job, all)
	r.Client, r.Server = outcome.Client, outcome.Server
	r.Warnings = append(outcome.Warnings, r.Warnings...)
	return r, nil
}
