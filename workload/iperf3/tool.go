// Package iperf3 drives iperf3 (https://software.es.net/iperf/), 3.7 and later, for datagrams 3.11 and later.
//
// The receiver's figures count: sum_received and the receivers of the streams in the client's JSON
// output. For datagrams, in some versions these include the losses of the warm-up and lack the
// receiver's bytes for each stream, so the receiver's intervals are summed instead.
//
// A server of iperf3 serves one client at a time, so each client has its own, on a port of its own
// that both the control connection and the data use. Up to 3.15 one thread serves all streams of a
// client, since 3.16 each stream has its own.
package iperf3

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// tested are the versions that have transcripts.
const tested = "3.12 and 3.18"

// Tool is iperf3. The first version that knows --bidir is 3.7.
var Tool = program.Tool{
	Name: "iperf3",
	Programs: []program.Program{{
		Name: "iperf3", Package: "iperf3", Flag: "--version", Says: regexp.MustCompile(`^iperf (3\.\d+)`),
		Oldest: "3.7", Tested: tested,
	}},
	Drives: []workload.Drive{
		{Workload: record.TCPStream, Options: []string{"streams", "message-size", "window", "bandwidth", "congestion", "zero-copy", "reverse"}, Bounds: workload.Within(1, 1<<20, "message-size")},
		{Workload: record.TCPBidir, Options: []string{"streams", "message-size", "window", "congestion", "zero-copy"}, Bounds: workload.Within(1, 1<<20, "message-size")},
		{Workload: record.UDPStream, Options: []string{"streams", "message-size", "window", "bandwidth", "reverse"}, Bounds: workload.Within(16, record.MaxDatagram, "message-size")},
	},
	Serves:  program.OneClient,
	Server:  server,
	Client:  client,
	Result:  program.Heard(program.Each(parse, together)),
	Explain: explain,
}

// connectTimeout is how long a client tries to reach its server, in milliseconds.
const connectTimeout = 3000

// Limits of intervals, each of which has a part for each stream in the output: of 128 streams it takes 40 kB.
const (
	mostIntervals = 30
	longest       = 60 // seconds; a longer interval is refused
)

// period returns the seconds between reports. The datagrams that were sent in an interval in which the warm-up ends include those of
// the warm-up.
func period(p program.Pair) string {
	if p.Job.Workload == record.UDPStream && p.Lead > 0 {
		return "1"
	}
	window := int(p.Window.Seconds())
	return strconv.Itoa(min(longest, max(1, (window+mostIntervals-1)/mostIntervals)))
}

func server(p program.Pair) program.Server {
	return program.Server{Command: program.Command{Args: []string{
		"-s", "-1", "-J", "-B", p.Listen.Unmap().String(), "-p", strconv.Itoa(p.Own[0]), "-i", period(p),
	}}}
}

func client(p program.Pair) program.Client {
	o := p.Job.Options
	args := []string{
		"-J", "-c", p.Addr.String(), "-p", strconv.Itoa(p.Own[0]),
		"-t", strconv.Itoa(int(p.Window.Seconds())), "-i", period(p),
		"--connect-timeout", strconv.Itoa(connectTimeout),
	}
	args = append(args, program.Given("-O", int(p.Lead.Seconds()))...)
	switch p.Job.Workload {
	case record.TCPStream:
		args = append(args, program.Given("-b", o.Bandwidth)...)
	case record.TCPBidir:
		args = append(args, "--bidir")
	case record.UDPStream:
		o.MessageSize = cmp.Or(o.MessageSize, record.Datagram)
		args = append(args, "-u", "-b", strconv.Itoa(o.Bandwidth))
		if !o.Reverse { // otherwise the client is the receiver
			args = append(args, "--get-server-output")
		}
	}
	args = slices.Concat(args,
		program.Given("-P", o.Streams), program.Given("-l", o.MessageSize), program.Given("-w", o.Window), program.Given("-C", o.Congestion))
	if o.ZeroCopy {
		args = append(args, "-Z")
	}
	if o.Reverse {
		args = append(args, "-R")
	}
	return program.Client{Command: program.Command{Args: args}}
}
