package netperf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// test is a test of netperf that drives a workload.
type test struct {
	workload string
	name     string // -t
	reversed string // -t with the server sending
	honours  []string
	asks     []string      // output selectors, beside those of every test
	tail     time.Duration // what it takes after the window
}

// padding is how long netperf waits after TCP_CRR, for the server to notice the end.
const padding = 4 * time.Second

// Output selectors of every test; netperf describes them in its manual under
// "Omni Output Selectors".
var asksAlways = []string{
	"PROTOCOL", "DIRECTION", "THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME",
	"LOCAL_BYTES_SENT", "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT", "REMOTE_BYTES_RECVD",
}

// Output selectors of some.
var (
	asksTCP          = []string{"TRANSPORT_MSS", "LOCAL_TRANSPORT_RETRANS", "REMOTE_TRANSPORT_RETRANS", "LOCAL_CONG_CONTROL", "REMOTE_CONG_CONTROL"}
	asksSizes        = []string{"LOCAL_SEND_SIZE", "LOCAL_RECV_SIZE", "REMOTE_SEND_SIZE", "REMOTE_RECV_SIZE"}
	asksTransactions = []string{
		"TRANSACTION_RATE", "REQUEST_SIZE", "RESPONSE_SIZE",
		"MEAN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY",
	}
)

func tests() []test {
	return []test{
		{record.TCPStream, "TCP_STREAM", "TCP_MAERTS", []string{"message-size", "window", "congestion", "reverse"}, slices.Concat(asksTCP, asksSizes), 0},
		{record.TCPRR, "TCP_RR", "", []string{"request-size", "response-size", "window", "congestion"}, slices.Concat(asksTCP, asksTransactions), 0},
		{record.TCPCRR, "TCP_CRR", "", []string{"request-size", "response-size", "window"}, asksTransactions, padding},
		{record.UDPStream, "UDP_STREAM", "", []string{"message-size", "window"}, asksSizes, 0},
		{record.UDPRR, "UDP_RR", "", []string{"request-size", "response-size", "window"}, asksTransactions, 0},
	}
}

func testOf(job workload.Job) (test, error) {
	for _, t := range tests() {
		if t.workload == job.Workload {
			return t, nil
		}
	}
	return test{}, fmt.Errorf("netperf has no test for %s", job.Workload)
}

// serverArgs is a netserver for one client, which serves it itself (-f). One that
// has children ignores their ends, so that nobody could tell what CPU time those
// used who have ended.
func serverArgs(p workload.Pair) []string {
	return []string{"-D", "-f", "-L", p.Listen.Unmap().String() + "," + family(p)[1:], family(p), "-p", strconv.Itoa(p.Own[0])}
}

func (t test) clientArgs(job workload.Job, p workload.Pair) []string {
	_, window := program.Window(job)
	name, o := t.name, job.Options
	if o.Reverse {
		name = t.reversed
	}
	args := []string{
		"-P", "0", family(p), "-H", p.Addr.String(), "-p", strconv.Itoa(p.Own[0]),
		"-t", name, "-l", strconv.Itoa(int(window.Seconds())), "-f", "k",
		"--", "-P", fmt.Sprintf(",%d", p.Own[1]),
	}
	switch t.workload {
	case record.TCPStream:
		args = append(args, sizes(o.MessageSize)...)
	case record.UDPStream:
		args = append(args, sizes(datagramOf(job))...)
		args = append(args, "-R", "1") // netperf's datagrams otherwise do not pass a router
	default:
		request, response := transactionOf(job)
		args = append(args, "-r", fmt.Sprintf("%d,%d", request, response))
	}
	if t.workload == record.TCPRR || t.workload == record.TCPCRR {
		args = append(args, "-D", "L,R")
	}
	if o.Window > 0 {
		args = append(args, "-s", strconv.Itoa(o.Window), "-S", strconv.Itoa(o.Window))
	}
	if o.Congestion != "" {
		args = append(args, "-K", o.Congestion+","+o.Congestion)
	}
	return append(args, "-k", strings.Join(t.selectors(), ","))
}

// selectors is all that the test is asked to print.
func (t test) selectors() []string { return slices.Concat(asksAlways, t.asks) }

// sizes sets what each end hands to a system call, in bytes.
func sizes(n int) []string {
	if n == 0 {
		return nil
	}
	both := fmt.Sprintf("%d,%d", n, n)
	return []string{"-m", both, "-M", both}
}

func datagramOf(job workload.Job) int {
	if n := job.Options.MessageSize; n > 0 {
		return n
	}
	return record.Datagram
}

// transactionOf is the payload of a request and of a response, in bytes.
func transactionOf(job workload.Job) (request, response int) {
	return max(job.Options.RequestSize, 1), max(job.Options.ResponseSize, 1)
}

func family(p workload.Pair) string {
	if p.Addr.Is4() {
		return "-4"
	}
	return "-6"
}

// explain says of an address that netperf cannot resolve why that is.
func explain(err error, job workload.Job) error {
	if !strings.Contains(err.Error(), "getaddrinfo returned") {
		return err
	}
	return &platform.Unsupported{
		Feature: "netperf to " + job.Pairs[0].Addr.String(),
		Option:  "an address of this family that is not the loopback's: netperf resolves addresses of no other families",
		Remedy:  "measure this network with another tool",
		Err:     err,
	}
}
