// Package qperf drives qperf.
//
// Limits of its figures: it cannot leave out a warm-up; it measures time in ticks of 10 ms, so that
// a throughput over a second is known to 1 %; of latencies it reports only the mean, and that of
// half the round trip, which is doubled here; its requests and responses are 1 byte each, since
// they cannot differ in size; its udp_lat waits for a lost datagram until the time is over, and
// counts that as latency; it sets the size of the server's socket buffers only (0.4.11), so that a window is that of the receiver
// of datagrams.
//
// A message size is qperf's msg_size, of tcp_bw and udp_bw. Its sweeps over it, such as
// msg_size:1:64K:*2, correspond to sweeps of the suite here.
package qperf

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version whose output the parser was written for.
const known = "0.4.11"

// Tool is qperf, whose server serves one client at a time.
var Tool = program.Tool{
	Name:     "qperf",
	Programs: []program.Program{{Name: "qperf", Package: "qperf", Flag: "--version", Says: regexp.MustCompile(`(?m)^qperf (\d\S*)$`)}},
	Drives: []workload.Drive{
		{Workload: record.TCPStream, Options: []string{"message-size"}},
		{Workload: record.TCPRR},
		{Workload: record.UDPStream, Options: []string{"message-size", "window"}, Bounds: workload.Within(1, record.MaxDatagram, "message-size")},
		{Workload: record.UDPRR},
	},
	Serves:   program.OneClient,
	Roams:    true,
	NoWarmup: true,
	Server:   server,
	Client:   client,
	Result:   program.Heard(program.Each(parse, together)),
}

// test is a test of qperf that drives a workload.
type test struct {
	name string
	size int // of a message if none is requested, in bytes; 0 is qperf's default
}

var tests = map[string]test{
	record.TCPStream: {"tcp_bw", 0},
	record.TCPRR:     {"tcp_lat", 1},
	record.UDPStream: {"udp_bw", record.Datagram},
	record.UDPRR:     {"udp_lat", 1},
}

// sizeOf returns the size of a message in bytes; 0 is qperf's default.
func sizeOf(job workload.Job) int { return cmp.Or(job.Options.MessageSize, tests[job.Workload].size) }

func server(p program.Pair) program.Server {
	return program.Server{Command: program.Command{Args: []string{"-lp", strconv.Itoa(p.Own[0])}}}
}

// client requests figures in base units (-uu, and -ub for bits), named by place (-un), with all
// digits (-e), and with counts (-vvs) and times (-vvt).
func client(p program.Pair) program.Client {
	args := []string{
		p.Addr.String(), "-lp", strconv.Itoa(p.Own[0]), "-ip", strconv.Itoa(p.Own[1]), "-ws", "1",
		"-t", strconv.Itoa(int(p.Window.Seconds())), "-uu", "-ub", "-un", "-e", "12", "-vvs", "-vvt", "-vvu",
	}
	args = slices.Concat(args, program.Given("-m", sizeOf(p.Job)), program.Given("-sb", p.Job.Options.Window))
	return program.Client{Command: program.Command{Args: append(args, tests[p.Job.Workload].name)}}
}
