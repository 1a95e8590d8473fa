package main

import (
	"context"
	"fmt"
	"time"

	"nettoll/analysis"
)

// slower measures networks one of which is slower by a known tenth, in so many runs as long as the
// default one, and judges whether nine of ten call it different with the right size in the interval.
// It is slower in throughput by its link, and in latency by a server that spins before it answers.
func slower(ctx context.Context, j *judging) error {
	j.total = 1 + 2*j.size
	decided, held := 0, 0
	for i := range j.size {
		c, _, err := j.knownPair(ctx, fmt.Sprintf("slower-link-%d", i+1), links())
		if err != nil {
			return err
		}
		judgeKnown("link of 900 Mbit/s ÷ 1000 Mbit/s, throughput", c, 0.9, &decided, &held)
	}
	nineOfTen("a link a tenth slower found different", decided, j.size)
	nineOfTen("the same, with the right size in the interval", held, j.size)

	_, p50, err := j.knownPair(ctx, "slower-server-none", servers(0))
	if err != nil {
		return err
	}
	decided, held = 0, 0
	for i := range j.size {
		spin := time.Duration(p50 / 10 * float64(time.Second))
		var c *analysis.Comparison
		c, p50, err = j.knownPair(ctx, fmt.Sprintf("slower-server-%d", i+1), servers(spin))
		if err != nil {
			return err
		}
		judgeKnown(fmt.Sprintf("server that spins for %.2f µs, p50 ÷ %.2f µs", 1e6*spin.Seconds(), 1e6*p50), c, 1+spin.Seconds()/p50, &decided, &held)
	}
	nineOfTen("a server a tenth slower found different", decided, j.size)
	nineOfTen("the same, with the right size in the interval", held, j.size)
	return nil
}

func judgeKnown(what string, c *analysis.Comparison, truth float64, decided, held *int) {
	if c == nil {
		fmt.Printf("%-52s not known\n", what)
		return
	}
	fmt.Printf("%-52s %.3f (%.3f to %.3f, n=%d), in truth %.3f: %v\n", what, c.Value, c.Low, c.High, c.N, truth, c.Verdict)
	if c.Verdict == analysis.Different {
		*decided++
		if c.Low <= truth && truth <= c.High {
			*held++
		}
	}
}
