package iperf3

import (
	"errors"
	"fmt"

	"nettoll/record"
)

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
