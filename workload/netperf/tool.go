// Package netperf drives netperf: its omni tests, with output selectors, so that every figure is
// printed with its name.
//
// Limits of its figures: it cannot leave out a warm-up; latencies are whole microseconds, except
// the mean; a lost datagram stops UDP_RR for the rest of its time, and the trial fails if that is
// more than a fifth of it; and it resolves an address only if the endpoint has one of the same family
// other than the loopback's.
package netperf

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version whose output the parser was written for.
const known = "2.7.0"

// Tool is netperf with its netserver. Debian has both in one package of its non-free section.
var Tool = program.Tool{
	Name: "netperf",
	Programs: []program.Program{
		{Name: "netperf", Package: "netperf", Flag: "-V", Says: regexp.MustCompile(`(?m)^Netperf version (\d[^\s]*)`)},
		{Name: "netserver", Package: "netperf"},
	},
	Drives: []workload.Drive{
		{Workload: record.TCPStream, Options: []string{"message-size", "window", "congestion", "reverse"}},
		{Workload: record.TCPRR, Options: []string{"request-size", "response-size", "window", "congestion"}},
		{Workload: record.TCPCRR, Options: []string{"request-size", "response-size", "window"}},
		{Workload: record.UDPStream, Options: []string{"message-size", "window"}, Bounds: workload.Within(1, record.MaxDatagram, "message-size")},
		{Workload: record.UDPRR, Options: []string{"request-size", "response-size", "window"}, Bounds: workload.Within(1, record.MaxDatagram, "request-size", "response-size")},
	},
	Serves:   program.OneClient,
	Roams:    true,
	NoWarmup: true,
	Times:    times,
	Server:   server,
	Client:   client,
	Result:   program.Heard(program.Each(parse, program.Together)),
	Failed:   explain,
}

// test is a test of netperf that drives a workload.
type test struct {
	name     string   // -t
	reversed string   // -t with the server sending
	asks     []string // output selectors, in addition to those of every test
}

// asksAlways are the output selectors of every test; netperf describes them in its manual under "Omni
// Output Selectors".
var asksAlways = []string{
	"PROTOCOL", "DIRECTION", "THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME",
	"LOCAL_BYTES_SENT", "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT", "REMOTE_BYTES_RECVD",
}

// Output selectors of some tests.
var (
	asksTCP          = []string{"TRANSPORT_MSS", "LOCAL_TRANSPORT_RETRANS", "REMOTE_TRANSPORT_RETRANS", "LOCAL_CONG_CONTROL", "REMOTE_CONG_CONTROL"}
	asksSizes        = []string{"LOCAL_SEND_SIZE", "LOCAL_RECV_SIZE", "REMOTE_SEND_SIZE", "REMOTE_RECV_SIZE"}
	asksTransactions = []string{
		"TRANSACTION_RATE", "REQUEST_SIZE", "RESPONSE_SIZE",
		"MEAN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY",
	}
)

var tests = map[string]test{
	record.TCPStream: {"TCP_STREAM", "TCP_MAERTS", slices.Concat(asksTCP, asksSizes)},
	record.TCPRR:     {"TCP_RR", "", slices.Concat(asksTCP, asksTransactions)},
	record.TCPCRR:    {"TCP_CRR", "", asksTransactions},
	record.UDPStream: {"UDP_STREAM", "", asksSizes},
	record.UDPRR:     {"UDP_RR", "", asksTransactions},
}

// padding is how long netperf waits after TCP_CRR, for the server to notice the end.
const padding = 4 * time.Second

func times(job workload.Job, t *program.Trial) {
	if job.Workload == record.TCPCRR {
		t.Tail = padding
	}
}

// server returns a netserver for one client, which it serves itself (-f). A netserver that forks
// ignores the ends of its children, so the CPU time of those that have ended could not be measured.
func server(p program.Pair) program.Server {
	return program.Server{Command: program.Command{Args: []string{
		"-D", "-f", "-L", p.Listen.Unmap().String() + "," + p.Family()[1:], p.Family(), "-p", strconv.Itoa(p.Own[0]),
	}}}
}

func client(p program.Pair) program.Client {
	o, t := p.Job.Options, tests[p.Job.Workload]
	name := t.name
	if o.Reverse {
		name = t.reversed
	}
	args := []string{
		"-P", "0", p.Family(), "-H", p.Addr.String(), "-p", strconv.Itoa(p.Own[0]),
		"-t", name, "-l", strconv.Itoa(int(p.Window.Seconds())), "-f", "k",
		"--", "-P", fmt.Sprintf(",%d", p.Own[1]),
	}
	switch p.Job.Workload {
	case record.TCPStream:
		args = append(args, sizes(o.MessageSize)...)
	case record.UDPStream:
		args = append(args, sizes(datagramOf(p.Job))...)
		args = append(args, "-R", "1") // otherwise netperf's datagrams do not pass a router
	default:
		request, response := transactionOf(p.Job)
		args = append(args, "-r", fmt.Sprintf("%d,%d", request, response))
	}
	if p.Job.Workload == record.TCPRR || p.Job.Workload == record.TCPCRR {
		args = append(args, "-D", "L,R")
	}
	if o.Window > 0 {
		args = append(args, "-s", strconv.Itoa(o.Window), "-S", strconv.Itoa(o.Window))
	}
	if o.Congestion != "" {
		args = append(args, "-K", o.Congestion+","+o.Congestion)
	}
	return program.Client{Command: program.Command{Args: append(args, "-k", strings.Join(t.selectors(), ","))}}
}

// selectors returns all output selectors of the test.
func (t test) selectors() []string { return slices.Concat(asksAlways, t.asks) }

// sizes sets the size of each end's system calls, in bytes.
func sizes(n int) []string {
	if n == 0 {
		return nil
	}
	both := fmt.Sprintf("%d,%d", n, n)
	return []string{"-m", both, "-M", both}
}

func datagramOf(job workload.Job) int { return cmp.Or(job.Options.MessageSize, record.Datagram) }

// transactionOf returns the payload of a request and of a response, in bytes.
func transactionOf(job workload.Job) (request, response int) {
	return max(job.Options.RequestSize, 1), max(job.Options.ResponseSize, 1)
}

// explain explains why netperf cannot resolve an address.
func explain(err error, job workload.Job) error {
	if !strings.Contains(err.Error(), "getaddrinfo returned") {
		return err
	}
	return &platform.Unsupported{
		Feature: "netperf to " + job.Pairs[0].Addr.String(),
		Option:  "a non-loopback address of this family: without one, netperf resolves no address of the family",
		Remedy:  "measure this network with another tool",
		Err:     err,
	}
}
