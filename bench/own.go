package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/record"
)

// reports writes a report of a run of thousands of trials. For comparison it reads the same file with encoding/json
// alone, and keeps every whole trial in memory, as a program that computes with all of them would. A report that
// was made from whole trials, one line after the other, took seven times that time, and nearly three times that
// memory.
func reports(ctx context.Context, w *work) error {
	file := filepath.Join(w.dir, "big.ndjson")
	trials, err := writeBigRun(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("a run of %d trials, %d MB\n", trials, info.Size()/1e6)
	for _, format := range []struct {
		name string
		time float64 // at most, relative to the time of reading
	}{{"text", 1.5}, {"html", 2}} {
		var times, memories ratios
		for range 3 {
			plain, err := spent(ctx, self, readsAll, file)
			if err != nil {
				return err
			}
			report, err := spent(ctx, w.program, "report", file, "--format", format.name)
			if err != nil {
				return err
			}
			fmt.Printf("report as %s: nettoll %.2f s and %.0f MB, encoding/json %.2f s and %.0f MB\n", format.name, report.seconds, report.megabytes, plain.seconds, plain.megabytes)
			times, memories = append(times, report.seconds/plain.seconds), append(memories, report.megabytes/plain.megabytes)
		}
		times.show("report as "+format.name+" ÷ reading all, time", false, format.time)
		memories.show("report as "+format.name+" ÷ reading all, peak memory", false, 0.67)
	}
	return nil
}

// spending is the time and memory that a program took.
type spending struct{ seconds, megabytes float64 }

func spent(ctx context.Context, program string, args ...string) (spending, error) {
	cmd := interruptible(ctx, program, args...)
	cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return spending{}, fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	s := spending{seconds: time.Since(begin).Seconds()}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.megabytes = float64(use.Maxrss) / 1e3 // from kB
	}
	return s, nil
}

// readsAll is the argument of a process that only reads a run file.
const readsAll = "reads-all"

func readAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var trials []*record.Trial
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		t := &record.Trial{}
		if err := json.Unmarshal(lines.Bytes(), t); err != nil {
			return err
		}
		trials = append(trials, t)
	}
	runtime.KeepAlive(trials)
	return lines.Err()
}

// Contents of a big run: the sample's trials, repeated, each with the flows, endpoints, hops, counters and CPUs of
// four pairs of containers. Each trial is then about 20 kB, as in a suite with several clients.
const (
	sampleRun = "docs/sample/quick.ndjson.gz"
	copies    = 25
	pairs     = 4
)

// writeBigRun writes a run file of a few thousand trials, always the same. It does not use record.Writer, which
// waits for the disk after every line.
func writeBigRun(path string) (trials int, err error) {
	sample, err := readZipped(sampleRun)
	if err != nil {
		return 0, err
	}
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buffer := bufio.NewWriterSize(f, 1<<20)
	line := json.NewEncoder(buffer)
	end := sample.Ends[0]
	sample.Run.Settings.MaxRounds = copies * end.Rounds
	err = line.Encode(sample.Run)
	r := rand.New(rand.NewPCG(6000, 121))
	for again := range copies {
		for _, t := range sample.Trials {
			t.Round += again * end.Rounds
			widen(&t, r)
			err = cmp.Or(err, line.Encode(t))
		}
	}
	end.Rounds *= copies
	return copies * len(sample.Trials), cmp.Or(err, line.Encode(end), buffer.Flush(), f.Close())
}

// widen turns a trial into one of several pairs, with figures that vary.
func widen(t *record.Trial, r *rand.Rand) {
	t.Flows, t.Endpoints, t.Path = slices.Repeat(t.Flows, pairs), slices.Repeat(t.Endpoints, pairs), slices.Repeat(t.Path, pairs)
	if t.CPU != nil {
		use := *t.CPU
		use.Machine.PerCPU = slices.Repeat(use.Machine.PerCPU, 2*pairs)
		t.CPU = &use
	}
	counters, metrics := map[string]uint64{}, map[string]record.Metric{}
	for name, n := range t.Counters {
		for pair := range pairs {
			counters[fmt.Sprint(pair, name)] = n
		}
	}
	for name, m := range t.Metrics {
		m.Value *= math.Exp(0.05 * r.NormFloat64())
		metrics[name] = m
	}
	t.Counters, t.Metrics = counters, metrics
}

// manyRounds is a number of rounds of ten cells each. The memory is read after the given numbers of trials.
const (
	manyRounds  = 60
	earlyTrials = 100
	lateTrials  = 550
)

// memory compares the memory of the measuring process late in a run with that early in the run.
func memory(ctx context.Context, w *work) error {
	file := filepath.Join(w.dir, "many.ndjson")
	args := []string{"run", "loopback", "--hosts", "1", "--ipv4", "--ipv6", "--workloads", "tcp_rr,udp_rr,tcp_crr,tcp_stream,udp_stream",
		"-t", "10ms", "--warmup", "0s", "--turns=false", "-o", file}
	cmd := interruptible(ctx, w.program, append(args, fixedRounds(manyRounds)...)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var early, late float64
	for {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("a run of many trials: %w", err)
			}
			if early == 0 || late == 0 {
				return fmt.Errorf("the memory of a run of many trials was not read: %v and %v bytes", early, late)
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
		case n > lateTrials && late == 0: // before the report, which is written at the end
			late = resident(cmd.Process.Pid)
		}
	}
}

// resident returns the memory in bytes of the process that measures: the only child of the lab's first process,
// which is the only child of the process that was started.
func resident(pid int) (bytes float64) {
	all, _ := procfs.AllProcs()
	for range 2 {
		child := slices.IndexFunc(all, func(p procfs.Proc) bool {
			s, err := p.Stat()
			bytes = float64(s.ResidentMemory())
			return err == nil && s.PPID == pid
		})
		if child < 0 {
			return 0
		}
		pid = all[child].PID
	}
	return bytes
}
