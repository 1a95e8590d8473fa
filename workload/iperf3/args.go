package iperf3

import (
	"cmp"
	"fmt"
	"strconv"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// connectTimeout is how long a client tries to reach its server, in milliseconds.
const connectTimeout = 3000

// commands are the programs of a pair.
func commands(path string, job workload.Job, pair int) (server, client program.Command, err error) {
	p, o := job.Pairs[pair], job.Options
	port, streams := strconv.Itoa(p.Own[0]), max(o.Streams, 1)
	lead, window := program.Window(job)
	server = program.Command{
		Path: path,
		Args: []string{"-s", "-1", "-J", "-B", p.Listen.Unmap().String(), "-p", port},
		CPUs: program.CPUs(job.CPUs.Server, pair, streams),
	}
	args := []string{
		"-J", "-c", p.Addr.String(), "-p", port,
		"-t", strconv.Itoa(program.WholeSeconds(window)), "-i", "1",
		"--connect-timeout", strconv.Itoa(connectTimeout),
	}
	if lead > 0 {
		args = append(args, "-O", strconv.Itoa(program.WholeSeconds(lead)))
	}
	switch job.Workload {
	case record.TCPStream:
		if o.Bandwidth > 0 {
			args = append(args, "-b", strconv.Itoa(o.Bandwidth))
		}
	case record.TCPBidir:
		args = append(args, "--bidir")
	case record.UDPStream:
		o.MessageSize = cmp.Or(o.MessageSize, record.Datagram)
		args = append(args, "-u", "-b", strconv.Itoa(o.Bandwidth))
		if !o.Reverse { // otherwise the client is the receiver
			args = append(args, "--get-server-output")
		}
	default:
		return server, client, fmt.Errorf("unknown workload %q", job.Workload)
	}
	for _, f := range []struct {
		flag  string
		value int
	}{{"-P", o.Streams}, {"-l", o.MessageSize}, {"-w", o.Window}} {
		if f.value > 0 {
			args = append(args, f.flag, strconv.Itoa(f.value))
		}
	}
	if o.Congestion != "" {
		args = append(args, "-C", o.Congestion)
	}
	if o.ZeroCopy {
		args = append(args, "-Z")
	}
	if o.Reverse {
		args = append(args, "-R")
	}
	return server, program.Command{Path: path, Args: args, CPUs: program.CPUs(job.CPUs.Client, pair, streams)}, nil
}
