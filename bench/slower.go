package main

import (
	"context"
	"fmt"
	"time"

	"nettoll/analysis"
	"nettoll/record"
)

// slower measures networks one of which is slower by a known tenth, in so many runs as long as the
// default one, and judges whether nine of ten call it different with the right size in the interval.
// It is slower in throughput by its link, and in latency by a server that spins before it answers.
func slower(ctx context.Context, w *work) error {
	w.total = 1 + 2*w.size
	var links, servers findings
	for i := range w.size {
		c, _, err := w.knownPair(ctx, fmt.Sprintf("slower-link-%d", i+1), twoLinks())
		if err != nil {
			return err
		}
		showKnown("link of 900 Mbit/s ÷ 1000 Mbit/s, throughput", c, 0.9)
		links.add(c, 0.9)
	}
	links.show("a link a tenth slower found different", "the right size", w.size)

	_, p50, err := w.knownPair(ctx, "slower-server-none", twoServers(0))
	if err != nil {
		return err
	}
	for i := range w.size {
		spin := time.Duration(p50 / 10 * float64(time.Second))
		var c *analysis.Comparison
		c, p50, err = w.knownPair(ctx, fmt.Sprintf("slower-server-%d", i+1), twoServers(spin))
		if err != nil {
			return err
		}
		truth := 1 + spin.Seconds()/p50
		showKnown(fmt.Sprintf("server that spins for %.2f µs, p50 ÷ %.2f µs", 1e6*spin.Seconds(), 1e6*p50), c, truth)
		servers.add(c, truth)
	}
	servers.show("a server a tenth slower found different", "the right size", w.size)
	return nil
}

func showKnown(what string, c *analysis.Comparison, truth float64) {
	fmt.Printf("%-52s %.3f (%.3f to %.3f, n=%d), in truth %.3f: %v\n", what, c.Value, c.Low, c.High, c.N, truth, c.Verdict)
}

// knownPair is how the slower of a pair compares with the baseline, and the p50 of that in seconds.
func (w *work) knownPair(ctx context.Context, name string, k known) (c *analysis.Comparison, p50 float64, err error) {
	f, err := w.measured(ctx, name, k)
	if err != nil {
		return nil, 0, err
	}
	rows := analysis.Analyze(f).Scenarios[0].Rows
	if of, ok := rows[0].Figure(record.LatencyP50); ok {
		p50 = of.Summary.Estimate
	}
	if of, ok := rows[1].Primary(); ok {
		c = of.Ratio
	}
	if c == nil {
		return nil, 0, fmt.Errorf("%s is %s: %s", k.names[1], rows[1].Status, rows[1].Reason)
	}
	return c, p50, nil
}
