// Package iperf drives iperf 2 (https://sourceforge.net/projects/iperf2/), 2.1.
//
// One server for each address of a server's endpoint serves all clients that reach it there. The
// receiver's figures count: they are in the server's report or, for data that the server sends, in the
// client's, interval by interval. Both print enhanced text (-e) in bytes (-f B), because the CSV output
// (-y C) has times with a resolution of a tenth of a second, calls the client's peer "::" in full duplex,
// and lacks retransmits. A flow of the server's report is matched to its client by the client's address
// and port.
//
// Clients do not start exactly together and flows do not end together. So every client continues for half
// a second after the window, and only the intervals between warm-up and the end of the window count. The
// sums that the program prints are not read.
package iperf

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// tested are the versions that have transcripts.
const tested = "2.1.8 and 2.2.1"

// Tool is iperf 2. Versions 2.0 print other columns.
var Tool = program.Tool{
	Name: "iperf",
	Programs: []program.Program{{
		Name: "iperf", Package: "iperf", Flag: "--version", Says: regexp.MustCompile(`^iperf version (2\.\d+\.\d+\S*)`),
		Oldest: "2.1", Tested: tested,
	}},
	Drives: []workload.Drive{
		{Workload: record.TCPStream, Options: []string{"streams", "message-size", "window", "congestion", "reverse"}, Bounds: readable},
		{Workload: record.TCPBidir, Options: []string{"streams", "message-size", "window", "congestion"}, Bounds: readable},
		{Workload: record.UDPStream, Options: []string{"streams", "message-size", "window", "bandwidth"}, Bounds: workload.Within(16, record.MaxDatagram, "message-size")},
	},
	Serves: program.Address,
	Times:  func(_ workload.Job, t *program.Trial) { t.Tail = tail },
	Server: server,
	Client: client,
	Result: program.Heard(result),
}

// readable are the sizes of messages over TCP: a server that reads fewer bytes than 8 at a time ends with a division by zero
// (as of 2.1.8). The header of a datagram, without which there is no jitter, has 16.
var readable = workload.Within(8, record.MaxMessage, "message-size")

// tail is how long clients continue after the window.
const tail = 500 * time.Millisecond

// unlimited is the offered rate of datagrams that are sent as fast as possible, in bit/s. The program
// takes 0 for an endless pause.
const unlimited = "1000g"

// both returns the arguments that client and server have in common. Only the server is told the congestion control if it is the one
// that sends: a client refuses that.
func both(p program.Pair, congestion string) []string {
	o := p.Job.Options
	args := []string{"-p", strconv.Itoa(p.Port), "-e", "-i", "1", "-f", "B"}
	if p.Addr.Is6() {
		args = append(args, "-V")
	}
	if p.Job.Workload == record.UDPStream {
		args = append(args, "-u")
		o.MessageSize = cmp.Or(o.MessageSize, record.Datagram)
	}
	return slices.Concat(args, program.Given("-l", o.MessageSize), program.Given("-w", o.Window), program.Given("-Z", congestion))
}

func server(p program.Pair) program.Server {
	protocol := "tcp"
	if p.Job.Workload == record.UDPStream {
		protocol = "udp"
	}
	return program.Server{
		Command: program.Command{Args: append([]string{"-s", "-B", p.Listen.Unmap().String()}, both(p, p.Job.Options.Congestion)...)},
		Listen:  p.Ports(protocol),
		Ending:  syscall.SIGKILL, // it does not end when asked to, and has then already printed all figures that count
	}
}

func client(p program.Pair) program.Client {
	o := p.Job.Options
	if o.Reverse {
		o.Congestion = ""
	}
	args := append([]string{"-c", p.Addr.String()}, both(p, o.Congestion)...)
	args = append(args, "-t", strconv.FormatFloat((p.Lead+p.Window+tail).Seconds(), 'f', 1, 64))
	switch p.Job.Workload {
	case record.TCPStream:
		if o.Reverse {
			args = append(args, "-R")
		}
	case record.TCPBidir:
		args = append(args, "--full-duplex")
	case record.UDPStream:
		rate := unlimited
		if o.Bandwidth > 0 {
			rate = strconv.Itoa(o.Bandwidth)
		}
		args = append(args, "-b", rate)
	}
	if p.Streams > 1 {
		args = append(args, "-P", strconv.Itoa(p.Streams))
	}
	return program.Client{Command: program.Command{Args: args}}
}
