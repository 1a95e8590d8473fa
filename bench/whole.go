package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nettoll/record"
)

// whole measures runs of the program itself: the time that is not spent measuring
// and the memory that trials take.
func whole(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "nettoll-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, outside) // for all that follows
	defer cancel()
	program, err := compiled(ctx, dir)
	if err != nil {
		return err
	}
	if err := overhead(ctx, program, dir); err != nil {
		return err
	}
	if err := turns(ctx, program, dir); err != nil {
		return err
	}
	return memory(ctx, program, dir)
}

// byHand is how long the same comparison takes with fixed repeats: iperf3 and qperf,
// ten times ten seconds each, for every network.
const byHand = 2 * 10 * 10.0 // seconds

// overhead runs the default suite: the share of it that is not warm-up or window, and
// its wall time beside that of the same comparison by hand.
func overhead(ctx context.Context, program, dir string) error {
	file := filepath.Join(dir, "quick.ndjson")
	begin := time.Now()
	if err := nettoll(ctx, program, "run", "-o", file).Run(); err != nil {
		return err
	}
	elapsed := time.Since(begin).Seconds()
	f, err := record.ReadFile(file)
	if err != nil {
		return err
	}
	if len(f.Ends) != 1 {
		return fmt.Errorf("%s has no end", file)
	}
	ratios{1 - f.Ends[0].Measuring/elapsed}.show("time outside measuring, of the default suite", false, 0.10)
	networks := map[string]bool{}
	for _, c := range f.Run.Cells {
		networks[fmt.Sprint(c.Network, c.Hosts)] = true
	}
	ratios{elapsed / (byHand * float64(len(networks)))}.show("default suite ÷ 10 × 10 s of iperf3 and qperf", false, 1)
	return nil
}

// memory compares the memory of the measuring process late in a run with that
// early in it.
func memory(ctx context.Context, program, dir string) error {
	file := filepath.Join(dir, "many.ndjson")
	cmd := nettoll(ctx, program, "run", "loopback", "--hosts", "1", "--workloads", "tcp_rr", "-t", "10ms", "--warmup", "0s",
		"--min-rounds", "500", "--max-rounds", "500", "--time-budget", "0", "-o", file)
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var early, late float64
	for {
		select {
		case err := <-done:
			if err != nil || early == 0 || late == 0 {
				return fmt.Errorf("a run of many trials: %w (memory read: %v, %v)", err, early, late)
			}
			ratios{late / early}.show("memory after 900 trials ÷ after 100", false, 1.25)
			return nil
		case <-time.After(20 * time.Millisecond):
		}
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		switch n := bytes.Count(b, []byte("\n")); {
		case n > 100 && early == 0:
			early = resident(cmd.Process.Pid)
		case n > 900 && n < 1000:
			late = resident(cmd.Process.Pid)
		}
	}
}

// resident is the memory of the only child of a process, in kB.
func resident(pid int) float64 {
	p := strconv.Itoa(pid)
	tasks, _ := filepath.Glob("/proc/" + p + "/task/*/children")
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		for _, child := range strings.Fields(string(b)) {
			status, _ := os.ReadFile("/proc/" + child + "/status")
			for line := range strings.Lines(string(status)) {
				if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
					kb, _ := strconv.ParseFloat(f[1], 64)
					return kb
				}
			}
		}
	}
	return 0
}

// nettoll is a run whose output is not of interest, unless it fails.
func nettoll(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}
