// Package qperf drives qperf.
//
// What one should know of its figures: it cannot leave out a warm-up; it sees time
// in ticks of 10 ms, so that a throughput over a second is known to 1 %; of latency
// it tells the mean only, and of half the way, which is doubled here; its requests
// and responses are 1 byte each, since it has no two sizes; its udp_lat waits for a
// datagram that is lost until the time is over, and counts that as latency.
//
// A message size is what qperf calls msg_size, of tcp_bw and udp_bw. Its sweeps over
// it, such as msg_size:1:64K:*2, are sweeps of the suite here.
package qperf

import (
	"cmp"
	"regexp"
	"strconv"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known is the version whose output the parser was written for.
const known = "0.4.11"

// Tool is qperf, whose server is for one client at a time.
var Tool = program.Tool{
	Name:     "qperf",
	Programs: []program.Program{{Name: "qperf", Package: "qperf", Flag: "--version", Says: regexp.MustCompile(`(?m)^qperf (\d\S*)$`)}},
	Drives: []workload.Drive{
		{Workload: record.TCPStream, Options: []string{"message-size", "window"}},
		{Workload: record.TCPRR, Options: []string{"window"}},
		{Workload: record.UDPStream, Options: []string{"message-size", "window"}},
		{Workload: record.UDPRR, Options: []string{"window"}},
	},
	Serves:   program.OneClient,
	Roams:    true,
	NoWarmup: true,
	Server:   server,
	Client:   client,
	Result:   program.Each(parse, together),
}

// test is a test of qperf that drives a workload.
type test struct {
	name string
	size int // of a message where none is asked for, in bytes; 0 is qperf's own
}

var tests = map[string]test{
	record.TCPStream: {"tcp_bw", 0},
	record.TCPRR:     {"tcp_lat", 1},
	record.UDPStream: {"udp_bw", record.Datagram},
	record.UDPRR:     {"udp_lat", 1},
}

// sizeOf is the size of a message in bytes; 0 is qperf's own.
func sizeOf(job workload.Job) int { return cmp.Or(job.Options.MessageSize, tests[job.Workload].size) }

func server(p program.Pair) program.Server {
	return program.Server{Command: program.Command{Args: []string{"-lp", strconv.Itoa(p.Own[0])}}}
}

// client asks for figures in base units (-uu, and -ub for bits), named by place
// (-un), with all digits (-e), and with counts (-vvs) and times (-vvt).
func client(p program.Pair) program.Client {
	args := []string{
		p.Addr.String(), "-lp", strconv.Itoa(p.Own[0]), "-ip", strconv.Itoa(p.Own[1]), "-ws", "1",
		"-t", strconv.Itoa(int(p.Window.Seconds())), "-uu", "-ub", "-un", "-e", "12", "-vvs", "-vvt", "-vvu",
	}
	if n := sizeOf(p.Job); n > 0 {
		args = append(args, "-m", strconv.Itoa(n))
	}
	if n := p.Job.Options.Window; n > 0 {
		args = append(args, "-sb", strconv.Itoa(n))
	}
	return program.Client{Command: program.Command{Args: append(args, tests[p.Job.Workload].name)}}
}
