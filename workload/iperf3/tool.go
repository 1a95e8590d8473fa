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
	"time"

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
		{Workload: record.TCPStream, Options: []string{"streams", "message-size", "window", "bandwidth", "congestion", "zero-copy", "reverse"}, Bounds: within(1, 1<<20)},
		{Workload: record.TCPBidir, Options: []string{"streams", "message-size", "window", "congestion", "zero-copy"}, Bounds: within(1, 1<<20)},
		{Workload: record.UDPStream, Options: []string{"streams", "message-size", "window", "bandwidth", "reverse"}, Bounds: within(16, record.MaxDatagram)},
	},
	Serves:  program.OneClient,
	Times:   times,
	Server:  server,
	Client:  client,
	Result:  program.Heard(program.Each(parse, together)),
	Explain: explain,
}

// within returns the bounds of messages, in bytes, and of the streams of one client, of which iperf3 has at most 128.
func within(least, most int) []record.Bounds {
	return append(workload.Within(least, most, "message-size"), workload.Within(1, 128, "streams")...)
}

// connectTimeout is how long a client tries to reach its server, in milliseconds: less than program.Grace, so that iperf3
// says itself what it could not reach.
const connectTimeout = 8000

// Limits of intervals, each of which has a part for each stream in the output: of 128 streams it takes 40 kB.
const (
	mostIntervals = 30
	longest       = 60 // seconds; a longer interval is refused
	longestWarmed = 10 // seconds; see times
)

// warmed reports whether the warm-up lasts for whole intervals: of one in which it ends, the datagrams that were sent include those of
// the warm-up.
func warmed(job workload.Job, lead time.Duration) bool {
	return job.Workload == record.UDPStream && lead > 0
}

// period returns the time between reports, in whole seconds.
func period(job workload.Job, lead, window time.Duration) time.Duration {
	const second = time.Second
	most := longest * second
	if warmed(job, lead) {
		most = longestWarmed * second
	}
	return min(most, max(1, (window/second+mostIntervals-1)/mostIntervals)*second)
}

// times makes the warm-up longer where it lasts for whole intervals. That has to be less than trials may take beyond their window.
func times(job workload.Job, t *program.Trial) {
	if every := period(job, t.Lead, t.Window); warmed(job, t.Lead) {
		t.Lead = (t.Lead + every - 1) / every * every
	}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

func server(p program.Pair) program.Server {
	return program.Server{Command: program.Command{Args: []string{
		"-s", "-1", "-J", "-B", p.Listen.Unmap().String(), "-p", strconv.Itoa(p.Own[0]), "-i", seconds(period(p.Job, p.Lead, p.Window)),
	}}}
}

func client(p program.Pair) program.Client {
	o := p.Job.Options
	args := []string{
		"-J", "-c", p.Addr.String(), "-p", strconv.Itoa(p.Own[0]),
		"-t", seconds(p.Window), "-i", seconds(period(p.Job, p.Lead, p.Window)),
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
