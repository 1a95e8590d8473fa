package iperf

import (
	"cmp"
	"fmt"
	"strconv"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// unlimited is what datagrams are offered at that go as fast as they can, in bit/s.
// The program takes 0 for a pause without end.
const unlimited = "1000g"

// commands are the programs of a pair. Pairs of one server have equal servers.
func commands(path string, job workload.Job, pair int) (server, client program.Command, err error) {
	p, o := job.Pairs[pair], job.Options
	streams := max(o.Streams, 1)
	lead, window := program.Window(job)
	both := []string{"-p", strconv.Itoa(p.Port), "-e", "-i", "1", "-f", "B"}
	if p.Addr.Is6() {
		both = append(both, "-V")
	}
	if job.Workload == record.UDPStream {
		both = append(both, "-u")
		o.MessageSize = cmp.Or(o.MessageSize, record.Datagram)
	}
	if o.MessageSize > 0 {
		both = append(both, "-l", strconv.Itoa(o.MessageSize))
	}
	if o.Window > 0 {
		both = append(both, "-w", strconv.Itoa(o.Window))
	}
	if o.Congestion != "" {
		both = append(both, "-Z", o.Congestion)
	}
	server = program.Command{
		Path: path, Args: append([]string{"-s", "-B", p.Listen.Unmap().String()}, both...),
		CPUs: program.CPUs(job.CPUs.Server, pair, streams*clientsOf(job, p)),
	}
	args := append([]string{"-c", p.Addr.String()}, both...)
	args = append(args, "-t", strconv.FormatFloat((lead+window+tail).Seconds(), 'f', 1, 64))
	switch job.Workload {
	case record.TCPStream:
		if o.Reverse {
			args = append(args, "-R")
		}
	case record.TCPBidir:
		args = append(args, "--full-duplex")
	case record.UDPStream:
		rate := unlimited
		if o.Bandwidth > 0 {
			rate = strconv.Itoa(o.Bandwidth)
		}
		args = append(args, "-b", rate)
	default:
		return server, client, fmt.Errorf("unknown workload %q", job.Workload)
	}
	if streams > 1 {
		args = append(args, "-P", strconv.Itoa(streams))
	}
	return server, program.Command{Path: path, Args: args, CPUs: program.CPUs(job.CPUs.Client, pair, streams)}, nil
}

// clientsOf is how many clients a pair's server has.
func clientsOf(job workload.Job, of workload.Pair) (n int) {
	for _, p := range job.Pairs {
		if seatOf(p) == seatOf(of) {
			n++
		}
	}
	return n
}
