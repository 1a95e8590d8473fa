package nuttcp

import (
	"fmt"
	"strconv"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// transfer is what nuttcp does for a workload.
type transfer struct {
	workload string
	mode     string // as nuttcp names it
	honours  []string
}

// tail is how much longer nuttcp runs than it is measured: the report of the last
// second of its life comes only sometimes.
const tail = time.Second

func transfers() []transfer {
	return []transfer{
		{record.TCPStream, "tcp", []string{"message-size", "window", "reverse"}},
		{record.UDPStream, "udp", []string{"message-size", "window", "bandwidth"}},
	}
}

func transferOf(job workload.Job) (transfer, error) {
	for _, t := range transfers() {
		if t.workload == job.Workload {
			return t, nil
		}
	}
	return transfer{}, fmt.Errorf("nuttcp has no transfer for %s", job.Workload)
}

// datagrams says whether the payload travels in datagrams.
func (t transfer) datagrams() bool { return t.workload == record.UDPStream }

// sizeOf is what a write takes, in bytes; 0 is nuttcp's own.
func (t transfer) sizeOf(job workload.Job) int {
	if n := job.Options.MessageSize; n > 0 || !t.datagrams() {
		return n
	}
	return record.Datagram
}

func serverArgs(p workload.Pair) []string {
	return []string{family(p), "-S", "--nofork", "--no3rdparty", "-P", strconv.Itoa(p.Own[0])}
}

// clientArgs asks for reports of the receiver every second, and for all that both
// ends can tell.
func (t transfer) clientArgs(job workload.Job, p workload.Pair) []string {
	lead, window := program.Window(job)
	args := []string{
		family(p), "-P", strconv.Itoa(p.Own[0]), "-p", strconv.Itoa(p.Own[1]), "-fparse", "-vv", "-i1",
		"-T" + strconv.Itoa(int((lead+window+tail)/time.Second)),
	}
	if t.datagrams() {
		args = append(args, "-u", "-R"+kilobits(job.Options.Bandwidth))
	}
	if n := t.sizeOf(job); n > 0 {
		args = append(args, "-l"+strconv.Itoa(n))
	}
	if n := job.Options.Window; n > 0 {
		kib := strconv.Itoa((n + 1023) / 1024)
		args = append(args, "-w"+kib, "-ws"+kib)
	}
	if job.Options.Reverse {
		args = append(args, "-r", "-F") // -F: the client connects all the same
	}
	return append(args, p.Addr.String())
}

// kilobits is a rate in bit/s as nuttcp takes it.
func kilobits(bandwidth int) string {
	if bandwidth == 0 {
		return "u" // as fast as it goes
	}
	return strconv.Itoa(max(1, bandwidth/1000))
}

func family(p workload.Pair) string {
	if p.Addr.Is4() {
		return "-4"
	}
	return "-6"
}
