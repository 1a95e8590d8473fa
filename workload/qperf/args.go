package qperf

import (
	"fmt"
	"strconv"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// test is a test of qperf that drives a workload.
type test struct {
	workload string
	name     string
	size     int // of a message where none is asked for, in bytes; 0 is qperf's own
	honours  []string
}

func tests() []test {
	return []test{
		{record.TCPStream, "tcp_bw", 0, []string{"message-size", "window"}},
		{record.TCPRR, "tcp_lat", 1, []string{"window"}},
		{record.UDPStream, "udp_bw", record.Datagram, []string{"message-size", "window"}},
		{record.UDPRR, "udp_lat", 1, []string{"window"}},
	}
}

func testOf(job workload.Job) (test, error) {
	for _, t := range tests() {
		if t.workload == job.Workload {
			return t, nil
		}
	}
	return test{}, fmt.Errorf("qperf has no test for %s", job.Workload)
}

// sizeOf is the size of a message in bytes; 0 is qperf's own.
func (t test) sizeOf(o record.Options) int {
	if o.MessageSize > 0 {
		return o.MessageSize
	}
	return t.size
}

func serverArgs(p workload.Pair) []string { return []string{"-lp", strconv.Itoa(p.Own[0])} }

// clientArgs asks for figures in base units (-uu, and -ub for bits), named by place
// (-un), with all digits (-e), and with counts (-vvs) and times (-vvt).
func (t test) clientArgs(job workload.Job, p workload.Pair) []string {
	_, window := program.Window(job)
	args := []string{
		p.Addr.String(), "-lp", strconv.Itoa(p.Own[0]), "-ip", strconv.Itoa(p.Own[1]), "-ws", "1",
		"-t", strconv.Itoa(int(window.Seconds())), "-uu", "-ub", "-un", "-e", "12", "-vvs", "-vvt", "-vvu",
	}
	if n := t.sizeOf(job.Options); n > 0 {
		args = append(args, "-m", strconv.Itoa(n))
	}
	if n := job.Options.Window; n > 0 {
		args = append(args, "-sb", strconv.Itoa(n))
	}
	return append(args, t.name)
}
