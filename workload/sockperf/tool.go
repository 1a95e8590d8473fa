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
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version whose output the parser was written for.
const known = "3.7"

// Tool is sockperf. A server of its reads from one TCP connection only.
var Tool = program.Tool{
	Name:     "sockperf",
	Programs: []program.Program{{Name: "sockperf", Package: "sockperf", Flag: "--version", Says: regexp.MustCompile(`(?m)^sockperf, version (\d[\d.]*)`)}},
	Drives: []workload.Drive{
		{Workload: record.PacedRR, Options: []string{"request-size", "window", "rate"}, IPv4Only: true},
		{Workload: record.TCPRR, Options: []string{"request-size", "window"}, IPv4Only: true},
		{Workload: record.UDPRR, Options: []string{"request-size", "window"}, IPv4Only: true},
		{Workload: record.UDPStream, Options: []string{"message-size", "window", "bandwidth"}, IPv4Only: true},
	},
	Serves: program.OneClient,
	Times:  times,
	Server: server,
	Client: client,
	Result: program.Each(parse, together),
}

// mode is a subcommand of sockperf that drives a workload.
type mode struct {
	name     string
	protocol string // "tcp" or "udp"
	threads  int    // of the client
	size     int    // of a message where none is asked for, in bytes
}

var modes = map[string]mode{
	record.PacedRR:   {"under-load", "tcp", 2, smallest},
	record.TCPRR:     {"ping-pong", "tcp", 1, smallest},
	record.UDPRR:     {"ping-pong", "udp", 1, smallest},
	record.UDPStream: {"throughput", "udp", 1, record.Datagram},
}

const (
	// smallest is what sockperf's header takes, in bytes.
	smallest = 14
	// rate is in transactions a second where none is asked for: so few that the latency
	// is that of an idle network.
	rate = 1000

	hesitation = 2100 * time.Millisecond // between sockperf's start and its first message
	warmup     = 400 * time.Millisecond  // what sockperf leaves out of latencies
	cooldown   = 50 * time.Millisecond
)

// stream says whether messages go one way.
func stream(job workload.Job) bool { return job.Workload == record.UDPStream }

// sizeOf is the size of a message, in bytes.
func sizeOf(job workload.Job) int {
	return cmp.Or(job.Options.MessageSize, job.Options.RequestSize, modes[job.Workload].size)
}

// cold is how much of its traffic a client leaves out.
func cold(job workload.Job) time.Duration {
	if stream(job) {
		return 0
	}
	return warmup
}

// seconds is how long sockperf must run to count for as long as was asked.
func seconds(job workload.Job) int {
	if stream(job) {
		return program.WholeSeconds(job.Duration)
	}
	return program.WholeSeconds(job.Duration + warmup + cooldown)
}

// window is how long sockperf counts then.
func window(job workload.Job) time.Duration {
	d := time.Duration(seconds(job)) * time.Second
	if stream(job) {
		return d
	}
	return d - warmup - cooldown
}

// rateOf is how many messages a second a client offers; 0 is as many as it can.
func rateOf(job workload.Job) int {
	switch {
	case job.Workload == record.PacedRR:
		return cmp.Or(job.Options.Rate, rate)
	case job.Options.Bandwidth > 0:
		return max(1, job.Options.Bandwidth/8/sizeOf(job))
	}
	return 0
}

func times(job workload.Job, t *program.Trial) error {
	if n := sizeOf(job); n < smallest {
		return fmt.Errorf("sockperf sends no less than %d bytes at a time, and %d were asked for", smallest, n)
	}
	t.Lead, t.Window = hesitation+cold(job), window(job)
	return nil
}

// both is what client and server must be told alike. Not among it is --no-rdtsc: with
// the kernel's clock, version 3.7 cuts several times as much off the window.
func both(p program.Pair) []string {
	args := []string{"-p", strconv.Itoa(p.Own[0])}
	if modes[p.Job.Workload].protocol == "tcp" {
		args = append(args, "--tcp")
	}
	if n := p.Job.Options.Window; n > 0 {
		args = append(args, "--buffer-size", strconv.Itoa(n))
	}
	return args
}

// server says what it counted when it is interrupted, and nothing when it is terminated.
func server(p program.Pair) program.Server {
	s := program.Server{
		Command: program.Command{Args: append([]string{"server", "-i", p.Listen.Unmap().String(), "--uc-reuseaddr"}, both(p)...)},
		Listen:  p.Ports(modes[p.Job.Workload].protocol),
	}
	if stream(p.Job) {
		s.Ending = program.Interrupt
	}
	return s
}

func client(p program.Pair) program.Client {
	m, job := modes[p.Job.Workload], p.Job
	args := append([]string{m.name, "-i", p.Addr.String()}, both(p)...)
	args = append(args, "-t", strconv.Itoa(seconds(job)), "-m", strconv.Itoa(sizeOf(job)))
	if n := rateOf(job); n > 0 {
		args = append(args, "--mps", strconv.Itoa(n))
	}
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
