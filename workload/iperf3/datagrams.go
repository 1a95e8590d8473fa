package iperf3

import (
	"errors"
	"fmt"
	"math"
)

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
