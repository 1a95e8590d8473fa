package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"nettoll/internal/program"
	"nettoll/internal/wrap"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// figures are the results of one client.
type figures struct {
	program.Figures
	seconds float64    // of the receiver
	minor   int        // minor number of the program's version
	busy    [2]float64 // CPUs that client and server used
}

// parse reads a client's output.
func parse(job workload.Job, text, _ string) (figures, error) {
	var o output
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return figures{}, fmt.Errorf("did not print iperf3's JSON (tested with %s): %w", tested, err)
	}
	if o.Error != "" {
		return figures{}, errors.New(o.Error)
	}
	m, ok := minor(o.Start.Version)
	if !ok {
		return figures{}, fmt.Errorf("unknown version %q: tested with %s", o.Start.Version, tested)
	}
	if job.Workload == record.UDPStream && m < firstReceived {
		return figures{}, &platform.Unsupported{
			Feature: fmt.Sprintf("datagrams of iperf3 3.%d", m),
			Option:  fmt.Sprintf("iperf3 3.%d or later, which reports what the receiver has counted", firstReceived),
			Remedy:  "give the path of a newer one with --tool-path iperf3=FILE",
		}
	}
	f := figures{minor: m}
	err := f.read(&o, job)
	return f, wrap.Error(err, "output of version 3.%d (tested with %s)", m, tested)
}

func (f *figures) read(o *output, job workload.Job) error {
	want, streams := "TCP", max(job.Options.Streams, 1)
	if job.Workload == record.UDPStream {
		want = "UDP"
	}
	if t := o.Start.TestStart; t.Protocol != want || t.Streams != streams {
		return fmt.Errorf("test_start: %d streams of %q instead of %d of %q", t.Streams, t.Protocol, streams, want)
	}
	if o.End.Received == nil {
		return errors.New("no field sum_received")
	}
	var err error
	if f.seconds, err = number("sum_received: seconds", o.End.Received.Seconds); err != nil {
		return err
	}
	if f.seconds == 0 {
		return errors.New("sum_received: a window of 0 seconds")
	}
	for i, percent := range []*float64{o.End.CPU.Client, o.End.CPU.Server} {
		v, err := number("cpu_utilization_percent", percent)
		if err != nil {
			return err
		}
		f.busy[i] = v / 100
	}
	f.Flows, f.Sums = make([]record.Flow, streams), map[string]float64{}
	f.Crossed.Conns = uint64(streams)
	if job.Workload == record.UDPStream {
		err = f.readDatagrams(o, len(job.Pairs))
	} else {
		err = f.readStreams(o, job.Workload == record.TCPBidir)
	}
	if err != nil {
		return err
	}
	for i := range f.Flows {
		flow := &f.Flows[i]
		flow.Message = o.Start.TestStart.Block
		f.Bytes += flow.Bytes
	}
	f.Crossed.Bytes = f.Bytes
	f.Sums[record.Throughput] = float64(f.Bytes) * 8 / f.seconds
	f.Offered = f.Sums[record.Throughput]
	if job.Workload == record.UDPStream {
		f.Offered = f.Sent * float64(o.Start.TestStart.Block) * 8 / f.seconds
	}
	return nil
}

// firstReceived is the first minor version of iperf 3 whose output has sum_received for datagrams.
const firstReceived = 11

// firstThreaded is the first minor version of iperf 3 that has a thread for each stream.
const firstThreaded = 16

var versionText = regexp.MustCompile(`^iperf 3\.(\d+)`)

// minor returns the second number of a version such as "iperf 3.12".
func minor(text string) (int, bool) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// number returns the value of a field, which must be present and not negative.
func number(field string, v *float64) (float64, error) {
	switch {
	case v == nil:
		return 0, fmt.Errorf("no field %s", field)
	case math.IsNaN(*v) || *v < 0 || *v >= 1<<63:
		return 0, fmt.Errorf("%s is %v", field, *v)
	}
	return *v, nil
}

func count(field string, v *float64) (uint64, error) {
	n, err := number(field, v)
	return uint64(n), err
}

// explain returns the program's own error message.
func explain(text string) string {
	var o struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(text), &o) != nil {
		return ""
	}
	if strings.HasSuffix(o.Error, "Read-only file system") || strings.HasSuffix(o.Error, "No space left on device") {
		o.Error += ": it keeps what it sends in a temporary file; let TMPDIR name a folder that has room"
	}
	return o.Error
}

// readStreams reads the connections. If there are two directions those of the client come first, and the
// n-th of each make one stream. Each is a flow, and the two of a stream are next to each other.
func (f *figures) readStreams(o *output, bidir bool) error {
	streams, directions := len(f.Flows), 1
	if bidir {
		directions = 2
		f.Crossed.Conns *= 2
		f.Flows = make([]record.Flow, streams*directions)
	}
	if len(o.End.Streams) != streams*directions {
		return fmt.Errorf("end: %d streams, want %d", len(o.End.Streams), streams*directions)
	}
	var total [2]uint64
	for i, e := range o.End.Streams {
		if e.Receiver == nil || e.Sender == nil {
			return fmt.Errorf("end: stream %d: no field sender or receiver", i)
		}
		bytes, err := count("bytes of a receiver", e.Receiver.Bytes)
		if err != nil {
			return fmt.Errorf("end: stream %d: %w", i, err)
		}
		flow := &f.Flows[i%streams*directions+i/streams]
		flow.Bytes = bytes
		total[i/streams] += bytes
		if i < streams {
			flow.TCP = tcpInfo(o, e.Sender)
		}
	}
	sums := []*span{o.End.Received, o.End.ReceivedReverse}
	for i := range directions {
		if sums[i] == nil {
			return errors.New("no field sum_received_bidir_reverse")
		}
		if err := agree(sums[i].Bytes, total[i]); err != nil {
			return err
		}
	}
	f.Crossed.Fewer = min(total[0], total[1])
	return f.readRetransmits([]*span{o.End.Sent, o.End.SentReverse}[:directions])
}

// agree compares the sum that the program prints with the sum of the parts.
func agree(sum *float64, parts uint64) error {
	const tolerance = 0.02
	n, err := number("sum_received: bytes", sum)
	if err != nil {
		return err
	}
	if d := n - float64(parts); d > tolerance*n || -d > tolerance*n {
		return fmt.Errorf("sum_received: %.0f bytes, but its parts are %d", n, parts)
	}
	return nil
}

// readRetransmits sums the senders' retransmits, if all report them.
func (f *figures) readRetransmits(sent []*span) error {
	sum := uint64(0)
	for _, s := range sent {
		if s == nil {
			return errors.New("no field sum_sent")
		}
		if s.Retransmits == nil {
			return nil
		}
		n, err := count("sum_sent: retransmits", s.Retransmits)
		if err != nil {
			return err
		}
		sum += n
	}
	f.Sums[record.Retransmits] = float64(sum)
	return nil
}

// tcpInfo returns the values of the client's kernel for a connection in the last interval in which
// it sent. It has none for data that the server sends.
func tcpInfo(o *output, sender *span) *record.TCPInfo {
	if sender.Retransmits == nil || o.Start.MSS == 0 || o.Start.TestStart.Reverse != 0 {
		return nil
	}
	retransmits, err := count("retransmits", sender.Retransmits)
	if err != nil || retransmits >= 1<<32 {
		return nil
	}
	for i := len(o.Intervals) - 1; i >= 0; i-- {
		for _, s := range o.Intervals[i].Streams {
			if s.Socket == sender.Socket && s.RTT > 0 {
				return &record.TCPInfo{
					Retransmits: uint32(retransmits), RTT: s.RTT, RTTVar: s.RTTVar, PMTU: s.PMTU,
					Cwnd: s.Cwnd / o.Start.MSS, SndMSS: o.Start.MSS, Congestion: o.End.Congestion,
				}
			}
		}
	}
	return nil
}

// readDatagrams sums the receiver's intervals after the warm-up. The sums at the end cannot be
// used: those of 3.12 include the losses of the warm-up, and those of the streams have the sender's
// bytes.
func (f *figures) readDatagrams(o *output, clients int) error {
	receiver := o
	if o.Start.TestStart.Reverse == 0 {
		receiver = o.Server
	}
	if receiver == nil {
		return errors.New("no field server_output_json")
	}
	if receiver.Error != "" {
		return fmt.Errorf("server: %s", receiver.Error)
	}
	if o.Start.TestStart.Block <= 0 {
		return errors.New("test_start: no field blksize")
	}
	streams := len(f.Flows)
	var total, sent, received uint64
	for _, i := range receiver.Intervals {
		if len(i.Streams) != streams {
			return fmt.Errorf("intervals: %d streams, want %d", len(i.Streams), streams)
		}
		for k, s := range i.Streams {
			if s.Omitted {
				continue
			}
			if s.Sender == nil || *s.Sender {
				return errors.New("intervals: they are not the receiver's")
			}
			packets, bytes, err := s.datagrams()
			if err != nil {
				return fmt.Errorf("intervals: stream %d: %w", k, err)
			}
			sent += packets
			received += bytes / uint64(o.Start.TestStart.Block)
			f.Flows[k].Bytes += bytes
			total += bytes
		}
	}
	if err := agree(o.End.Received.Bytes, total); err != nil {
		return err
	}
	jitter, err := number("sum_received: jitter_ms", o.End.Received.Jitter)
	f.Sums[record.Jitter] = jitter / 1e3 / float64(clients)
	f.Sums[record.PacketRate] = float64(received) / f.seconds
	f.Sent = float64(max(sent, received))
	f.Lost = f.Sent - float64(received)
	return err
}

// datagrams returns how many were sent in an interval of a stream, and the bytes of those that
// arrived.
func (s span) datagrams() (packets, bytes uint64, err error) {
	if packets, err = count("packets", s.Packets); err != nil {
		return 0, 0, err
	}
	// A datagram that counts as lost in one interval can arrive in the next, whose loss is then
	// negative.
	if s.Lost == nil || math.Abs(*s.Lost) >= 1<<53 {
		return 0, 0, errors.New("no field lost_packets")
	}
	bytes, err = count("bytes", s.Bytes)
	return packets, bytes, err
}

// The parts of the output of -J that are read. Pointers distinguish missing fields from zero.

type output struct {
	Start struct {
		Version   string `json:"version"`
		MSS       uint32 `json:"tcp_mss_default"`
		TestStart struct {
			Protocol string `json:"protocol"`
			Streams  int    `json:"num_streams"`
			Block    int    `json:"blksize"` // bytes of a write, or of a datagram
			Reverse  int    `json:"reverse"`
		} `json:"test_start"`
	} `json:"start"`
	Intervals []interval `json:"intervals"`
	End       struct {
		Streams         []endOfStream `json:"streams"`
		Sent            *span         `json:"sum_sent"`
		Received        *span         `json:"sum_received"`
		SentReverse     *span         `json:"sum_sent_bidir_reverse"`
		ReceivedReverse *span         `json:"sum_received_bidir_reverse"`
		CPU             struct {
			Client *float64 `json:"host_total"` // percent of one CPU
			Server *float64 `json:"remote_total"`
		} `json:"cpu_utilization_percent"`
		Congestion string `json:"sender_tcp_congestion"`
	} `json:"end"`
	Server *output `json:"server_output_json"` // of --get-server-output
	Error  string  `json:"error"`
}

type interval struct {
	Streams []span `json:"streams"`
}

type endOfStream struct {
	Sender   *span `json:"sender"`
	Receiver *span `json:"receiver"`
}

// span is a period and its counts, for one stream or for all of them.
type span struct {
	Socket      int      `json:"socket"`
	Seconds     *float64 `json:"seconds"`
	Bytes       *float64 `json:"bytes"`
	Retransmits *float64 `json:"retransmits"`
	Lost        *float64 `json:"lost_packets"`
	Packets     *float64 `json:"packets"`   // sent, as far as the receiver knows
	Jitter      *float64 `json:"jitter_ms"` // mean of the streams
	Cwnd        uint32   `json:"snd_cwnd"`  // bytes
	RTT         uint32   `json:"rtt"`       // µs
	RTTVar      uint32   `json:"rttvar"`    // µs
	PMTU        uint32   `json:"pmtu"`
	Omitted     bool     `json:"omitted"`
	// Sender: in an interval, this end sent; in the end of a stream, the client did.
	Sender *bool `json:"sender"`
}

// together combines the figures of all clients. Each receiver has a window of its own.
func together(job workload.Job, o program.Outcome, all []figures) workload.Result {
	r := program.Together(job, o, all)
	for i, c := range all {
		r.Warnings = append(r.Warnings, oneThread(job.Pairs[i], c)...)
	}
	r.Warnings = append(r.Warnings, program.Paced(job, record.Each(all, func(f figures) program.Figures { return f.Figures }))...)
	r.Warnings = append(r.Warnings, otherWindows(job, all)...)
	return r
}

// otherWindows warns of receivers whose window differs from the requested one. It runs from one
// timer of a process to another, and timers are late on an overloaded machine; and it ends with a message that waits on the path
// behind payload.
func otherWindows(job workload.Job, clients []figures) []record.Warning {
	const tolerance = 0.1
	_, window := program.Window(job)
	asked, n := window.Seconds(), 0
	least, most := clients[0].seconds, clients[0].seconds
	for _, c := range clients {
		least, most = min(least, c.seconds), max(most, c.seconds)
		if math.Abs(c.seconds-asked) > tolerance*asked {
			n++
		}
	}
	return record.Warn(n > 0, "other-window",
		"%d of %d clients measured windows of %.2f to %.2f s instead of %v: iperf3's timers were late, because the machine was busy, or the message that ends the test waited behind payload on a slow path",
		n, len(clients), least, most, window)
}

// busy is the share of a CPU that a thread uses when it has no time left.
const busy = 0.95

// oneThread warns of a client or server whose only thread has no time left for its several streams.
// With one stream, any sender reaches that limit.
func oneThread(p workload.Pair, f figures) (all []record.Warning) {
	streams := len(f.Flows)
	if f.minor >= firstThreaded || streams == 1 {
		return nil
	}
	for i, process := range []string{"client " + p.Client.Name(), "server " + p.Server.Name()} {
		all = append(all, record.Warn(f.busy[i] >= busy, record.WarnGenerator,
			"%s used %.0f %% of a CPU with the one thread that iperf3 3.%d has for all %d streams: the figures measure the generator more than the network (iperf3 3.%d and later have a thread for each)",
			process, 100*f.busy[i], f.minor, streams, firstThreaded)...)
	}
	return all
}
