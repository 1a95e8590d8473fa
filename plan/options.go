package plan

import (
	"fmt"
	"strings"
)

// maxTransactions is a rate above what a machine can do.
const maxTransactions = 100_000_000

func (s Suite) checkWorkloads() error {
	if len(s.Workloads) == 0 {
		return s.fault("workloads", "nothing is to be driven; name workloads, such as tcp_stream")
	}
	for i, w := range s.Workloads {
		if err := s.checkOptions(fmt.Sprintf("workloads[%d]", i), w); err != nil {
			return err
		}
	}
	if len(s.Tools) == 0 {
		return s.fault("tools", "nothing drives the workloads; name tools, such as engine")
	}
	return nil
}

// checkOptions refuses values that are not possible, and options that the
// workload has no use for: the cell would be recorded as something it was not.
func (s Suite) checkOptions(field string, w Workload) error {
	if !isName(w.Name) {
		return s.fault(field, "%q is not a workload; write a name such as tcp_stream", w.Name)
	}
	for _, o := range []struct {
		name  string
		value Size
		max   Size
	}{
		{"streams", Size(w.Streams), maxStreams},
		{"message_size", w.MessageSize, maxSize},
		{"window", w.Window, maxWindow},
		{"request_size", w.RequestSize, maxSize},
		{"response_size", w.ResponseSize, maxSize},
		{"rate", Size(w.Rate), maxTransactions},
	} {
		name := field + "." + o.name
		if o.value < 0 || o.value > o.max || o.value == 0 && s.written(name) {
			return s.fault(name, "%d is not possible; write a number from 1 to %s, or leave it out", int(o.value), o.max)
		}
	}
	if name := field + ".bandwidth"; w.Bandwidth < 0 || w.Bandwidth > maxRate || w.Bandwidth == 0 && s.written(name) {
		return s.fault(name, "%s is not possible; write bit/s from 1 to %s, or leave it out", w.Bandwidth, BitRate(maxRate))
	}
	if strings.Trim(w.Congestion, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || len(w.Congestion) > 15 {
		return s.fault(field+".congestion", "%q is not a congestion control; write a name such as cubic", w.Congestion)
	}
	for _, o := range w.given() {
		if !Takes(w.Name, o) {
			return s.fault(field+"."+strings.ReplaceAll(o, "-", "_"), "has no effect on %s; leave it out", w.Name)
		}
	}
	return nil
}
