package sockperf

import (
	"fmt"
	"strconv"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// mode is a subcommand of sockperf that drives a workload.
type mode struct {
	workload string
	name     string
	protocol string // "tcp" or "udp"
	threads  int    // of the client
	size     int    // of a message where none is asked for, in bytes
	honours  []string
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

func modes() []mode {
	return []mode{
		{record.PacedRR, "under-load", "tcp", 2, smallest, []string{"request-size", "window", "rate"}},
		{record.TCPRR, "ping-pong", "tcp", 1, smallest, []string{"request-size", "window"}},
		{record.UDPRR, "ping-pong", "udp", 1, smallest, []string{"request-size", "window"}},
		{record.UDPStream, "throughput", "udp", 1, record.Datagram, []string{"message-size", "window", "bandwidth"}},
	}
}

func modeOf(job workload.Job) (mode, error) {
	for _, m := range modes() {
		if m.workload == job.Workload {
			if n := m.sizeOf(job); n < smallest {
				return mode{}, fmt.Errorf("sockperf sends no less than %d bytes at a time, and %d were asked for", smallest, n)
			}
			return m, nil
		}
	}
	return mode{}, fmt.Errorf("sockperf has no mode for %s", job.Workload)
}

// stream says whether messages go one way.
func (m mode) stream() bool { return m.workload == record.UDPStream }

// sizeOf is the size of a message, in bytes.
func (m mode) sizeOf(job workload.Job) int {
	if n := max(job.Options.MessageSize, job.Options.RequestSize); n > 0 {
		return n
	}
	return m.size
}

// cold is how much of its traffic a client leaves out.
func (m mode) cold() time.Duration {
	if m.stream() {
		return 0
	}
	return warmup
}

// seconds is how long sockperf must run to count for as long as was asked.
func (m mode) seconds(job workload.Job) int {
	if m.stream() {
		return program.WholeSeconds(job.Duration)
	}
	return program.WholeSeconds(job.Duration + warmup + cooldown)
}

// window is how long sockperf counts then.
func (m mode) window(job workload.Job) time.Duration {
	d := time.Duration(m.seconds(job)) * time.Second
	if m.stream() {
		return d
	}
	return d - warmup - cooldown
}

// rateOf is how many messages a second a client offers; 0 is as many as it can.
func (m mode) rateOf(job workload.Job) int {
	switch {
	case m.workload == record.PacedRR && job.Options.Rate > 0:
		return job.Options.Rate
	case m.workload == record.PacedRR:
		return rate
	case job.Options.Bandwidth > 0:
		return max(1, job.Options.Bandwidth/8/m.sizeOf(job))
	}
	return 0
}

// both is what client and server must be told alike. Not among it is --no-rdtsc: with
// the kernel's clock, version 3.7 cuts several times as much off the window.
func (m mode) both(job workload.Job, p workload.Pair) []string {
	args := []string{"-p", strconv.Itoa(p.Own[0])}
	if m.protocol == "tcp" {
		args = append(args, "--tcp")
	}
	if n := job.Options.Window; n > 0 {
		args = append(args, "--buffer-size", strconv.Itoa(n))
	}
	return args
}

func (m mode) serverArgs(job workload.Job, p workload.Pair) []string {
	return append([]string{"server", "-i", p.Listen.Unmap().String(), "--uc-reuseaddr"}, m.both(job, p)...)
}

// ending is how the server is asked to end: it says what it counted when it is interrupted,
// and nothing when it is terminated.
func (m mode) ending() program.Ending {
	if m.stream() {
		return program.Interrupt
	}
	return program.Terminate
}

func (m mode) clientArgs(job workload.Job, p workload.Pair) []string {
	args := append([]string{m.name, "-i", p.Addr.String()}, m.both(job, p)...)
	args = append(args, "-t", strconv.Itoa(m.seconds(job)), "-m", strconv.Itoa(m.sizeOf(job)))
	if n := m.rateOf(job); n > 0 {
		args = append(args, "--mps", strconv.Itoa(n))
	}
	if m.workload == record.PacedRR {
		args = append(args, "--reply-every", "1")
	}
	if !m.stream() {
		args = append(args, "--full-rtt")
	}
	return args
}
