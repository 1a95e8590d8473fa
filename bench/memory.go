package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// manyRounds are rounds of ten cells each. The memory is read when so many trials are done.
const (
	manyRounds  = 60
	earlyTrials = 100
	lateTrials  = 550
)

// memory compares the memory of the measuring process late in a run with that
// early in it.
func memory(ctx context.Context, w *work) error {
	file := filepath.Join(w.dir, "many.ndjson")
	args := []string{"run", "loopback", "--hosts", "1", "--ipv4", "--ipv6", "--workloads", "tcp_rr,udp_rr,tcp_crr,tcp_stream,udp_stream",
		"-t", "10ms", "--warmup", "0s", "--turns=false", "-o", file}
	cmd := w.nettoll(ctx, append(args, fixedRounds(manyRounds)...)...)
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
			ratios{late / early}.show(fmt.Sprintf("memory after %d trials ÷ after %d", lateTrials, earlyTrials), false, 1.25)
			return nil
		case <-time.After(20 * time.Millisecond):
		}
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		switch n := bytes.Count(b, []byte("\n")); {
		case n > earlyTrials && early == 0:
			early = resident(cmd.Process.Pid)
		case n > lateTrials:
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
