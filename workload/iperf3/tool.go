// Package iperf3 drives iperf3 (https://software.es.net/iperf/), 3.7 and later.
//
// The receiver's figure counts: sum_received and the receivers of the streams, as
// the client's JSON output has them. Of datagrams these hold what was lost during the
// warm-up in some versions, and nothing of the receiver's bytes for each stream, so
// that the receiver's intervals are summed instead.
//
// A server of iperf3 serves one client at a time, so each client has its own, on a
// port of its own that both the control connection and the data use. Up to 3.15 one
// thread serves all streams of a client, since 3.16 each has one.
package iperf3

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// Name is the tool's name, the program's and that of its Debian package.
const Name = "iperf3"

// Tool implements workload.Tool with the program.
type Tool struct{ paths program.Paths }

// New returns the tool.
func New(paths program.Paths) Tool { return Tool{paths} }

var (
	_ workload.Tool   = Tool{}
	_ workload.Prober = Tool{}
	_ workload.Packer = Tool{}
)

// Pack implements workload.Packer.
func (tool Tool) Pack() (workload.Pack, error) { return tool.paths.Pack(Name, Name) }

// Name implements workload.Tool.
func (Tool) Name() string { return Name }

// Drives implements workload.Tool.
func (Tool) Drives() []workload.Drive {
	return []workload.Drive{
		{Workload: record.TCPStream, Options: []string{"streams", "message-size", "window", "bandwidth", "congestion", "zero-copy", "reverse"}},
		{Workload: record.TCPBidir, Options: []string{"streams", "message-size", "window", "congestion", "zero-copy"}},
		{Workload: record.UDPStream, Options: []string{"streams", "message-size", "window", "bandwidth", "reverse"}},
	}
}

// Run implements workload.Tool.
func (tool Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	path, err := tool.paths.Find(Name, Name)
	if err != nil {
		return workload.Result{}, err
	}
	t := program.Trial{Explain: explain}
	t.Lead, t.Window = program.Window(job)
	for i, p := range job.Pairs {
		server, client, err := commands(path, job, i)
		if err != nil {
			return workload.Result{}, fmt.Errorf("iperf3: %w", err)
		}
		listen := program.Ports("tcp", []netip.Addr{p.Listen}, p.Own[0])
		t.Servers = append(t.Servers, program.Server{Endpoint: p.Server, Command: server, Listen: listen})
		t.Clients = append(t.Clients, program.Client{Endpoint: p.Client, Command: client})
	}
	o, err := program.Run(ctx, job, t)
	if err != nil {
		return workload.Result{}, fmt.Errorf("iperf3: %w", err)
	}
	figures := make([]figures, len(o.Clients))
	for i, c := range o.Clients {
		if figures[i], err = parse(c.Stdout, job.Workload, max(job.Options.Streams, 1)); err != nil {
			return workload.Result{}, fmt.Errorf("iperf3: client %s: %w", job.Pairs[i].Client.Name(), err)
		}
	}
	return result(job, o, figures), nil
}
