package engine

import (
	"syscall"

	"nettoll/record"
)

// latencyUnderLoad makes the transactions of tcp_rr on one flow of each client, while its other
// flows fill the same path with the streams of tcp_stream. During the first half of the warm-up
// there are no streams: the latency that the load adds is the difference of the medians. During the
// second half the streams reach their speed.
func latencyUnderLoad() traffic {
	return traffic{
		name:    record.LatencyUnderLoad,
		meeting: overTCP(),
		honours: []string{"streams", "message-size", "window", "congestion", "request-size", "response-size"},
		sizes:   requestResponse(),
		options: streamOptions,
		flows: func(o record.Options) []kind {
			probe, load := exchange(), upload()
			probe.client = newProbe
			load.late = true
			return append([]kind{probe}, each(load)(o)...)
		},
		exchanged: requestAndResponse,
	}
}

func newProbe(f *flow, o record.Options) (step, error) {
	f.unloaded = newLatencies()
	if _, err := newRequester(f, o); err != nil {
		return nil, err
	}
	return probeStep, nil
}

// probeStep is requestStep, but also keeps the latencies before the load.
//
//go:nosplit
func probeStep(f *flow) (int64, syscall.Errno) {
	n, errno := requestStep(f)
	if n > 0 && f.now <= f.settles {
		f.unloaded.add(f.now - f.begun)
	}
	return n, errno
}
