package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
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
func parse(text, load string, streams int) (figures, error) {
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
	err := f.read(&o, load, streams)
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
