// Package nuttcp drives nuttcp.
//
// The receiver reports every second, so that warm-up and tail can be cut off: nuttcp runs for a second
// longer than the measurement. It has one stream here, since each would need a port of its own.
package nuttcp

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// known are the versions whose output the parser was written for.
const known = "6.1.2 or 8.2.2"

// Tool is nuttcp. A server that stays in the foreground serves one client at a time.
var Tool = program.Tool{
	Name:     "nuttcp",
	Programs: []program.Program{{Name: "nuttcp", Package: "nuttcp", Flag: "-V", Says: regexp.MustCompile(`(?m)^nuttcp-(\d\S*)$`)}},
	Drives: []workload.Drive{
		{Workload: record.TCPStream, Options: []string{"message-size", "window", "reverse"}},
		{Workload: record.UDPStream, Options: []string{"message-size", "window", "bandwidth"}, Bounds: workload.Within(smallest, record.MaxDatagram, "message-size")},
	},
	Serves: program.OneClient,
	Roams:  true,
	Times:  func(_ workload.Job, t *program.Trial) { t.Tail = tail },
	Server: server,
	Client: client,
	Result: program.Heard(program.Each(parse, together)),
	Failed: explain,
}

// smallest is the least size of datagrams of which nuttcp reports the losses, in bytes.
const smallest = 32

// explain finds out whether the server may have been late: it agrees to a measurement before it listens
// for the data, and the client comes 30 ms later, once (both as of 6.1.2).
func explain(err error, _ workload.Job) error {
	if strings.Contains(err.Error(), "connect: Connection refused") {
		return fmt.Errorf("%w: the connection for the data was refused, as by a server that does not listen yet: %w", workload.ErrLate, err)
	}
	return err
}

// tail is how much longer nuttcp runs than it measures: the report of its last second is not always
// printed.
const tail = time.Second

// datagrams reports whether the payload travels in datagrams.
func datagrams(job workload.Job) bool { return job.Workload == record.UDPStream }

// sizeOf returns the size of a write in bytes; 0 is nuttcp's default.
func sizeOf(job workload.Job) int {
	if n := job.Options.MessageSize; n > 0 || !datagrams(job) {
		return n
	}
	return record.Datagram
}

func server(p program.Pair) program.Server {
	return program.Server{Command: program.Command{Args: []string{p.Family(), "-S", "--nofork", "--no3rdparty", "-P", strconv.Itoa(p.Own[0])}}}
}

// client requests reports of the receiver every second, and all the values that both ends can
// report.
func client(p program.Pair) program.Client {
	o := p.Job.Options
	args := []string{
		p.Family(), "-P", strconv.Itoa(p.Own[0]), "-p", strconv.Itoa(p.Own[1]), "-fparse", "-vv", "-i1",
		"-T" + strconv.Itoa(int((p.Lead+p.Window+tail)/time.Second)),
	}
	if datagrams(p.Job) {
		args = append(args, "-u", "-R"+kilobits(o.Bandwidth))
	}
	if n := sizeOf(p.Job); n > 0 {
		args = append(args, "-l"+strconv.Itoa(n))
	}
	if o.Window > 0 {
		kib := strconv.Itoa((o.Window + 1023) / 1024)
		args = append(args, "-w"+kib, "-ws"+kib)
	}
	if o.Reverse {
		args = append(args, "-r", "-F") // -F: the client connects nevertheless
	}
	return program.Client{Command: program.Command{Args: append(args, p.Addr.String())}}
}

// kilobits returns a rate given in bit/s in nuttcp's format.
func kilobits(bandwidth int) string {
	if bandwidth == 0 {
		return "u" // as fast as possible
	}
	return strconv.Itoa(max(1, bandwidth/1000))
}
