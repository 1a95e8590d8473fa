// Package iperf drives iperf 2 (https://sourceforge.net/projects/iperf2/), 2.1.
//
// One server for each address of a server's endpoint serves all who reach it there. The receiver's figure
// counts: it is in the server's report, or in the client's of what the server sends,
// interval by interval. Both print enhanced text (-e) in bytes (-f B), because the
// CSV output (-y C) has times of a tenth of a second, calls the client's peer "::"
// in full duplex, and knows nothing of retransmits. A flow of the server's report is
// matched to its client by the client's address and port.
//
// Clients do not start quite together and flows do not end together. So every client
// goes on for half a second after the window, and only the intervals between warm-up
// and the end of the window count. The sums that the program prints are not read.
package iperf

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// Name is the tool's name, the program's and that of its Debian package.
const Name = "iperf"

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
		{Workload: record.TCPStream, Options: []string{"streams", "message-size", "window", "congestion", "reverse"}},
		{Workload: record.TCPBidir, Options: []string{"streams", "message-size", "window", "congestion"}},
		{Workload: record.UDPStream, Options: []string{"streams", "message-size", "window", "bandwidth"}},
	}
}

// tail is how long clients go on after the window.
const tail = 500 * time.Millisecond

// Run implements workload.Tool.
func (tool Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	path, err := tool.paths.Find(Name, Name)
	if err != nil {
		return workload.Result{}, err
	}
	t := program.Trial{Tail: tail}
	t.Lead, t.Window = program.Window(job)
	servers := map[seat]int{} // place in t.Servers
	for i, p := range job.Pairs {
		server, client, err := commands(path, job, i)
		if err != nil {
			return workload.Result{}, fmt.Errorf("iperf: %w", err)
		}
		if at := seatOf(p); !has(servers, at) {
			servers[at] = len(t.Servers)
			listen := program.Ports(protocol(job.Workload), []netip.Addr{p.Listen}, p.Port)
			t.Servers = append(t.Servers, program.Server{Endpoint: p.Server, Command: server, Listen: listen, Ending: program.Kill})
		}
		t.Clients = append(t.Clients, program.Client{Endpoint: p.Client, Command: client})
	}
	o, err := program.Run(ctx, job, t)
	if err != nil {
		return workload.Result{}, fmt.Errorf("iperf: %w", err)
	}
	r, err := result(job, o, servers)
	if err != nil {
		return workload.Result{}, fmt.Errorf("iperf (tested with %s): %w", tested, err)
	}
	return r, nil
}

// seat is where a server is. It listens at one address.
type seat struct {
	endpoint platform.Endpoint
	at       netip.Addr
	port     int
}

func seatOf(p workload.Pair) seat { return seat{p.Server, p.Listen.Unmap(), p.Port} }

func has(servers map[seat]int, at seat) bool { _, ok := servers[at]; return ok }

func protocol(load string) string {
	if load == record.UDPStream {
		return "udp"
	}
	return "tcp"
}
