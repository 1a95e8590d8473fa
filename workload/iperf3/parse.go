package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

// figures is what one client measured.
type figures struct {
	seconds     float64 // of the receiver
	streams     []stream
	silent      []int   // streams of which nothing arrived, in a direction
	retransmits *uint64 // where the program tells
	datagrams   *datagrams
	message     int        // bytes of a write
	minor       int        // of the program's version
	busy        [2]float64 // CPUs that client and server used
}

// stream is what arrived of one stream, of both directions where there are two.
type stream struct {
	bytes uint64
	tcp   *record.TCPInfo
}

// datagrams are those of all streams in the window.
type datagrams struct {
	sent, received uint64
	jitter         float64 // seconds
}

// parse reads what a client printed.
func parse(job workload.Job, text, _ string) (figures, error) {
	var o output
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return figures{}, fmt.Errorf("prints no JSON of iperf3 (tested with %s): %w", tested, err)
	}
	if o.Error != "" {
		return figures{}, errors.New(o.Error)
	}
	m, ok := minor(o.Start.Version)
	if !ok {
		return figures{}, fmt.Errorf("unknown version %q: tested with %s", o.Start.Version, tested)
	}
	f := figures{minor: m, message: o.Start.TestStart.Block}
	err := f.read(&o, job.Workload, max(job.Options.Streams, 1))
	if err != nil {
		return figures{}, fmt.Errorf("output of version 3.%d (tested with %s): %w", m, tested, err)
	}
	return f, nil
}

func (f *figures) read(o *output, load string, streams int) error {
	want := "TCP"
	if load == record.UDPStream {
		want = "UDP"
	}
	if t := o.Start.TestStart; t.Protocol != want || t.Streams != streams {
		return fmt.Errorf("test_start: %d streams of %q, asked for %d of %q", t.Streams, t.Protocol, streams, want)
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
	if load == record.UDPStream {
		err = f.readDatagrams(o, streams)
	} else {
		err = f.readStreams(o, load == record.TCPBidir, streams)
	}
	if err != nil {
		return err
	}
	for i, s := range f.streams {
		if s.bytes == 0 && !slices.Contains(f.silent, i) {
			f.silent = append(f.silent, i)
		}
	}
	window := time.Duration(f.seconds * float64(time.Second))
	if n := len(f.silent); n > 0 && !workload.Crowded(n, streams, window) {
		return fmt.Errorf("stream %d: nothing was received", f.silent[0])
	}
	return nil
}

// firstThreaded is the first minor version of iperf 3 that has a thread for each stream.
const firstThreaded = 16

var versionText = regexp.MustCompile(`^iperf 3\.(\d+)`)

// minor is the second number of a version such as "iperf 3.12".
func minor(text string) (int, bool) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// number is a field that must be there, and be a number from zero up.
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

// explain finds the program's own words for what went wrong.
func explain(text string) string {
	var o struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(text), &o) != nil {
		return ""
	}
	return o.Error
}

// readStreams reads the connections. Where there are two directions the client's
// come first, and the n-th of either are one stream.
func (f *figures) readStreams(o *output, bidir bool, streams int) error {
	directions := 1
	if bidir {
		directions = 2
	}
	if len(o.End.Streams) != streams*directions {
		return fmt.Errorf("end: %d streams, want %d", len(o.End.Streams), streams*directions)
	}
	f.streams = make([]stream, streams)
	var total [2]uint64
	for i, e := range o.End.Streams {
		if e.Receiver == nil || e.Sender == nil {
			return fmt.Errorf("end: stream %d: no field sender or receiver", i)
		}
		bytes, err := count("bytes of a receiver", e.Receiver.Bytes)
		if err != nil {
			return fmt.Errorf("end: stream %d: %w", i, err)
		}
		if bytes == 0 {
			f.silent = append(f.silent, i)
		}
		f.streams[i%streams].bytes += bytes
		total[i/streams] += bytes
		if i < streams {
			f.streams[i].tcp = tcpInfo(o, e.Sender)
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
	return f.readRetransmits([]*span{o.End.Sent, o.End.SentReverse}[:directions])
}

// agree compares the sum that the program prints with that of the parts.
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

// readRetransmits sums the senders', where all tell.
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
	f.retransmits = &sum
	return nil
}

// tcpInfo is what the client's kernel said of a connection in the last interval in
// which it sent. Of what the server sends it knows nothing.
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

// readDatagrams sums the intervals of the receiver that are not of the warm-up.
// The sums at the end cannot be used: those of 3.12 count as lost what was lost
// during the warm-up, and those of the streams have the sender's bytes.
func (f *figures) readDatagrams(o *output, streams int) error {
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
	f.streams = make([]stream, streams)
	f.datagrams = &datagrams{}
	total := uint64(0)
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
			bytes, err := f.datagrams.add(s, o.Start.TestStart.Block)
			if err != nil {
				return fmt.Errorf("intervals: stream %d: %w", k, err)
			}
			f.streams[k].bytes += bytes
			total += bytes
		}
	}
	if err := agree(o.End.Received.Bytes, total); err != nil {
		return err
	}
	jitter, err := number("sum_received: jitter_ms", o.End.Received.Jitter)
	f.datagrams.jitter = jitter / 1e3
	return err
}

// add counts an interval of a stream, of which it gives the bytes.
func (d *datagrams) add(s span, block int) (bytes uint64, err error) {
	packets, err := count("packets", s.Packets)
	if err != nil {
		return 0, err
	}
	// A datagram that was lost in one interval can arrive in the next, which then has
	// lost less than none.
	if s.Lost == nil || math.Abs(*s.Lost) >= 1<<53 {
		return 0, errors.New("no field lost_packets")
	}
	if bytes, err = count("bytes", s.Bytes); err != nil {
		return 0, err
	}
	d.sent += packets
	d.received += bytes / uint64(block)
	return bytes, nil
}

// What is read of the output of -J. Pointers tell what is missing from what is zero.

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

// span is a time and what happened in it, to a stream or to all of them.
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
	// Sender, of an interval: this end sent. Of the end of a stream: the client did.
	Sender *bool `json:"sender"`
}
