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
func busy(ctx context.Context, w *work) error {
	w.total = 1 + w.size
	f, err := w.run(ctx, "busy-quiet", "bridge", "--hosts", "1", "--workloads", record.TCPStream,
		"--precision", "0.1%", "--max-rounds", "10000", "--time-budget", fmt.Sprintf("%dm", w.size))
	if err != nil {
		return err
	}
	truth := ofBridge(f)
	if truth == nil || truth.Level == 0 {
		return fmt.Errorf("the quiet run has no interval of bridge")
	}
	fmt.Printf("bridge ÷ host in throughput, quiet: %.3f (%.3f to %.3f, n=%d)\n", truth.Value, truth.Low, truth.High, truth.N)
	var found findings
	for i := range w.size {
		c, err := w.besideCompiler(ctx, fmt.Sprintf("busy-%d", i+1))
		if err != nil {
			return err
		}
		if c == nil {
			fmt.Fprintf(os.Stderr, "busy-%d: no ratio of bridge\n", i+1)
			continue
		}
		fmt.Printf("bridge ÷ host in throughput, busy: %.3f (%.3f to %.3f, n=%d): %v\n", c.Value, c.Low, c.High, c.N, c.Verdict)
		found.add(c, truth.Value)
	}
	found.show("bridge decided beside a compiler", "the quiet size", w.size)
	return nil
}

// ofBridge is the throughput of bridge beside that of the baseline, on one host.
func ofBridge(f *record.File) *analysis.Comparison {
	for row := range rows(f) {
		c := row.Cell
		if of, ok := row.Figure(record.Throughput); ok && c.Network == "bridge" && c.Hosts == 1 && c.Workload == record.TCPStream {
			return of.Ratio
		}
	}
	return nil
}

// besideCompiler does the default run while nettoll is compiled, with all that it is made of, again
// and again.
func (w *work) besideCompiler(ctx context.Context, name string) (*analysis.Comparison, error) {
	compiling, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	defer func() { stop(); <-stopped }()
	go func() {
		defer close(stopped)
		for compiling.Err() == nil {
			build := exec.CommandContext(compiling, "go", "build", "-a", "-o", os.DevNull, "./cmd/nettoll")
			build.Env = append(os.Environ(), "GOCACHE="+filepath.Join(w.dir, "cache"))
			if err := build.Run(); err != nil && compiling.Err() == nil {
				fmt.Fprintf(os.Stderr, "%s: the compiler: %v\n", name, err)
				return
			}
		}
	}()
	f, err := w.run(ctx, name, "--suite", plan.DefaultSuite)
	if err != nil {
		return nil, err
	}
	return ofBridge(f), nil
}
