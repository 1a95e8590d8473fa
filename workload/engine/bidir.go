package engine

import (
	"slices"

	"nettoll/record"
)

// tcpBidir is both directions at once. Each of its streams is two connections, one in each
// direction, as in iperf3 --bidir. Where they share a CPU at one end, one thread there serves both.
// The throughput is the sum of both directions.
func tcpBidir() traffic {
	return traffic{
		name:    record.TCPBidir,
		meeting: overTCP(),
		honours: []string{"streams", "message-size", "window", "congestion", "zero-copy", "skip-rx-copy"},
		options: streamOptions,
		rests:   streamRest,
		flows:   func(o record.Options) []kind { return slices.Repeat([]kind{upload(), download()}, o.Streams) },
	}
}
