// Package sockperf drives sockperf: ping-pong, under-load and throughput.
//
// Limits of its figures: it supports IPv4 only; it always leaves out its first 400 ms and its last
// 50 ms, except in throughput, where it leaves out nothing; a response is as large as its request,
// and neither is smaller than 14 bytes; a lost datagram stops ping-pong, and the trial fails if there
// are no answers for more than half of its time; it takes about 10 MB of memory for each second of
// ping-pong, at its start. Under load a thread of the client spins until the next request is due: if
// client and server share one CPU, it disturbs what it measures. The rate is kept by the clock, but
// latency counts from when a request was actually sent.
//
// For throughput sockperf prints the number of messages that were sent. Its server reports at its end
// how many of them arrived, and only these count here.
package sockperf

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version whose output the parser was written for.
const known = "3.7"

// Tool is sockperf. Its server reads from one TCP connection only.
var Tool = program.Tool{
	Name:     "sockperf",
	Programs: []program.Program{{Name: "sockperf", Package: "sockperf", Flag: "--version", Says: regexp.MustCompile(`(?m)^sockperf, version (\d[\d.]*)`)}},
	Drives: []workload.Drive{
		{Workload: record.PacedRR, Options: []string{"request-size", "window", "rate"}, IPv4Only: true, Bounds: sizes},
		{Workload: record.TCPRR, Options: []string{"request-size", "window"}, IPv4Only: true, Bounds: sizes},
		{Workload: record.UDPRR, Options: []string{"request-size", "window"}, IPv4Only: true, Bounds: sizes},
		{Workload: record.UDPStream, Options: []string{"message-size", "window", "bandwidth"}, IPv4Only: true, Bounds: sizes},
	},
	Serves: program.OneClient,
	Times:  times,
	Server: server,
	Client: client,
	Result: program.Each(parse, together),
}

var sizes = workload.Within(smallest, record.MaxDatagram, "message-size", "request-size")

// mode is a subcommand of sockperf that drives a workload.
type mode struct {
	name     string
	protocol string // "tcp" or "udp"
	threads  int    // of the client
	size     int    // of a message if none is requested, in bytes
}

var modes = map[string]mode{
	record.PacedRR:   {"under-load", "tcp", 2, smallest},
	record.TCPRR:     {"ping-pong", "tcp", 1, smallest},
	record.UDPRR:     {"ping-pong", "udp", 1, smallest},
	record.UDPStream: {"throughput", "udp", 1, record.Datagram},
}

const (
	// smallest is the size of sockperf's header, in bytes. It sends no more over TCP than over UDP.
	smallest = 14

	hesitation = 2100 * time.Millisecond // between sockperf's start and its first message
	warmup     = 400 * time.Millisecond  // left out of latencies by sockperf
	cooldown   = 50 * time.Millisecond
)

// stream reports whether messages go one way.
func stream(job workload.Job) bool { return job.Workload == record.UDPStream }

// sizeOf returns the size of a message, in bytes.
func sizeOf(job workload.Job) int {
	return cmp.Or(job.Options.MessageSize, job.Options.RequestSize, modes[job.Workload].size)
}

// margins returns how much of its traffic a client leaves out, at its beginning and at its end.
func margins(job workload.Job) (cold, end time.Duration) {
	if stream(job) {
		return 0, 0
	}
	return warmup, cooldown
}

// seconds returns how long sockperf must run to measure for as long as requested.
func seconds(job workload.Job) int {
	cold, end := margins(job)
	return program.WholeSeconds(job.Duration + cold + end)
}

// window returns how long sockperf then measures.
func window(job workload.Job) time.Duration {
	cold, end := margins(job)
	return time.Duration(seconds(job))*time.Second - cold - end
}

// rateOf returns how many messages per second a client is told to offer; 0 is as many as it can. These are whole numbers, which come
// close to the requested rate of a stream unless there are only a few of them.
func rateOf(job workload.Job) (told int, requested float64) {
	switch {
	case job.Workload == record.PacedRR:
		told = cmp.Or(job.Options.Rate, record.DefaultRate)
		return told, float64(told)
	case job.Options.Bandwidth > 0:
		requested = float64(job.Options.Bandwidth) / 8 / float64(sizeOf(job))
		return max(1, int(math.Round(requested))), requested
	}
	return 0, 0
}

func times(job workload.Job, t *program.Trial) {
	cold, _ := margins(job)
	t.Lead, t.Window = hesitation+cold, window(job)
}

// both returns the arguments that client and server have in common. They do not include --no-rdtsc:
// with the kernel's clock, version 3.7 cuts several times as much off the window.
func both(p program.Pair) []string {
	args := []string{"-p", strconv.Itoa(p.Own[0])}
	if modes[p.Job.Workload].protocol == "tcp" {
		args = append(args, "--tcp")
	}
	return append(args, program.Given("--buffer-size", p.Job.Options.Window)...)
}

// server returns a server, which prints its counts on SIGINT, and nothing on SIGTERM.
func server(p program.Pair) program.Server {
	s := program.Server{
		Command: program.Command{Args: append([]string{"server", "-i", p.Listen.Unmap().String(), "--uc-reuseaddr"}, both(p)...)},
		Listen:  p.Ports(modes[p.Job.Workload].protocol),
	}
	if stream(p.Job) {
		s.Ending = syscall.SIGINT
	}
	return s
}

func client(p program.Pair) program.Client {
	m, job := modes[p.Job.Workload], p.Job
	args := append([]string{m.name, "-i", p.Addr.String()}, both(p)...)
	args = append(args, "-t", strconv.Itoa(seconds(job)), "-m", strconv.Itoa(sizeOf(job)))
	told, _ := rateOf(job)
	args = append(args, program.Given("--mps", told)...)
	if job.Workload == record.PacedRR {
		args = append(args, "--reply-every", "1")
	}
	if !stream(job) {
		args = append(args, "--full-rtt")
	}
	c := program.Client{Command: program.Command{Args: args}}
	if m.threads > 1 {
		c.Command.CPUs = job.CPUs.Client
	}
	return c
}
