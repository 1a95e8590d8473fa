package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"nettoll/analysis"
	"nettoll/plan"
	"nettoll/record"
)

// busy measures bridge for as many minutes as it does default runs, quietly, and then does these
// beside a compiler that keeps both cores busy. It judges whether in nine of ten of them bridge is
// called different from the baseline in throughput, with the quiet run's size in the interval.
func busy(ctx context.Context, j *judging) error {
	j.total = 1 + j.size
	f, err := j.run(ctx, "busy-quiet", "bridge", "--hosts", "1", "--workloads", record.TCPStream,
		"--precision", "0.1%", "--max-rounds", "10000", "--time-budget", fmt.Sprintf("%dm", j.size))
	if err != nil {
		return err
	}
	truth := ofBridge(f)
	if truth == nil || truth.Level == 0 {
		return fmt.Errorf("the quiet run has no interval of bridge")
	}
	fmt.Printf("bridge ÷ host in throughput, quiet: %.3f (%.3f to %.3f, n=%d)\n", truth.Value, truth.Low, truth.High, truth.N)
	decided, held := 0, 0
	for i := range j.size {
		c, err := j.besideCompiler(ctx, fmt.Sprintf("busy-%d", i+1))
		if err != nil {
			return err
		}
		if c == nil {
			fmt.Fprintf(os.Stderr, "busy-%d: no ratio of bridge\n", i+1)
			continue
		}
		holds := c.Low <= truth.Value && truth.Value <= c.High
		fmt.Printf("bridge ÷ host in throughput, busy: %.3f (%.3f to %.3f, n=%d): %v\n", c.Value, c.Low, c.High, c.N, c.Verdict)
		if c.Verdict == analysis.Different {
			decided++
			if holds {
				held++
			}
		}
	}
	nineOfTen("bridge decided beside a compiler", decided, j.size)
	nineOfTen("the same, with the quiet size in the interval", held, j.size)
	return nil
}

// nineOfTen shows how many runs did what nine of ten are to do.
func nineOfTen(what string, did, of int) {
	fmt.Printf("%-46s %d of %d  aim at least 9 of 10: %s\n", what, did, of, verdict(10*did >= 9*of, "too few"))
}

// ofBridge is the throughput of bridge beside that of the baseline, on one host.
func ofBridge(f *record.File) *analysis.Comparison {
	for _, s := range analysis.Analyze(f).Scenarios {
		for _, row := range s.Rows {
			if c := row.Cell; c.Network != "bridge" || c.Hosts != 1 || c.Workload != record.TCPStream {
				continue
			}
			if of, ok := row.Figure(record.Throughput); ok {
				return of.Ratio
			}
		}
	}
	return nil
}

// besideCompiler does the default run while nettoll is compiled, with all that it is made of, again
// and again.
func (j *judging) besideCompiler(ctx context.Context, name string) (*analysis.Comparison, error) {
	compiling, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	defer func() { stop(); <-stopped }()
	go func() {
		defer close(stopped)
		for compiling.Err() == nil {
			build := exec.CommandContext(compiling, "go", "build", "-a", "-o", os.DevNull, "./cmd/nettoll")
			build.Env = append(os.Environ(), "GOCACHE="+filepath.Join(j.dir, "cache"))
			if err := build.Run(); err != nil && compiling.Err() == nil {
				fmt.Fprintf(os.Stderr, "%s: the compiler: %v\n", name, err)
				return
			}
		}
	}()
	f, err := j.run(ctx, name, "--suite", plan.DefaultSuite)
	if err != nil {
		return nil, err
	}
	return ofBridge(f), nil
}
