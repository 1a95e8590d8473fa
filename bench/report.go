package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"nettoll/record"
)

// reports writes a report of a run of thousands of trials, and beside that reads the same file with
// encoding/json alone, every trial as a whole and kept, as whoever computes with all of them would. A report
// that was made of whole trials, one line after the other, took seven times that time, and nearly three times
// that memory.
func reports(ctx context.Context) error { return withProgram(ctx, reportsOf) }

func reportsOf(ctx context.Context, program, dir string) error {
	file := filepath.Join(dir, "big.ndjson")
	const rounds = 50
	if err := writeBigRun(file, rounds); err != nil {
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
	fmt.Printf("a run of %d trials, %d MB\n", rounds*len(bigRun(rounds).Cells), info.Size()/1e6)
	for _, format := range []struct {
		name string
		time float64 // that it may take at most, of that of reading
	}{{"text", 1.5}, {"html", 2}} {
		var times, memories ratios
		for range 3 {
			plain, err := spent(ctx, self, readsAll, file)
			if err != nil {
				return err
			}
			report, err := spent(ctx, program, "report", file, "--format", format.name)
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

// spending is what a program took from its beginning to its end.
type spending struct{ seconds, megabytes float64 }

func spent(ctx context.Context, program string, args ...string) (spending, error) {
	cmd := nettoll(ctx, program, args...)
	cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return spending{}, fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	s := spending{seconds: time.Since(begin).Seconds()}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.megabytes = float64(use.Maxrss) / 1e3 // of kB
	}
	return s, nil
}

// readsAll is the argument of a process that reads a run file and does nothing else.
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
