package sampler

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/record"
)

// ProcessTime is the CPU time that a process has used so far.
type ProcessTime struct {
	at           time.Time
	total        float64 // seconds, to the nanosecond
	user, system float64 // seconds, in ticks
}

// Process reads the CPU time of a process of this PID namespace.
func Process(pid int) (ProcessTime, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(cpuClock(pid), &ts); err != nil {
		return ProcessTime{}, fmt.Errorf("sampler: read CPU time of process %d: %w", pid, err)
	}
	p, err := procfs.NewProc(pid)
	if err != nil {
		return ProcessTime{}, fmt.Errorf("sampler: read CPU time of process %d: %w", pid, err)
	}
	st, err := p.Stat()
	if err != nil {
		return ProcessTime{}, fmt.Errorf("sampler: read CPU time of process %d: %w", pid, err)
	}
	const ticks = 100 // USER_HZ, the same on all architectures that Go runs on
	return ProcessTime{
		at:    time.Now(),
		total: float64(ts.Nano()) / 1e9,
		user:  float64(st.UTime) / ticks, system: float64(st.STime) / ticks,
	}, nil
}

// CPUTime is how many CPU seconds a process of this PID namespace has used so far; 0 where
// it has ended, or has no number here.
func CPUTime(pid int) float64 {
	var ts unix.Timespec
	if pid <= 0 || unix.ClockGettime(cpuClock(pid), &ts) != nil {
		return 0
	}
	return float64(ts.Nano()) / 1e9
}

// cpuClock is the clock of a process' CPU time, as clock_getcpuclockid(3) makes it.
func cpuClock(pid int) int32 {
	const schedClock = 2
	return int32(^pid<<3 | schedClock)
}

// Between is the CPU time used between two readings, scaled to a window of so
// many seconds. The total is exact; its parts are in the proportion of the ticks.
func Between(name string, from, to ProcessTime, window float64) record.ProcessCPU {
	elapsed := to.at.Sub(from.at).Seconds()
	if elapsed <= 0 {
		return record.ProcessCPU{Name: name}
	}
	total := positive(to.total-from.total) * window / elapsed
	user, system := positive(to.user-from.user), positive(to.system-from.system)
	share := 0.0
	if user+system > 0 {
		share = user / (user + system)
	}
	return record.ProcessCPU{Name: name, User: total * share, System: total * (1 - share)}
}

// Switches is how often the CPUs of the machine have gone from one thread to another since
// it was started. proc is "/proc".
func Switches(proc string) (uint64, error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return 0, fmt.Errorf("sampler: %w", err)
	}
	st, err := fs.Stat()
	if err != nil {
		return 0, fmt.Errorf("sampler: read switches: %w", err)
	}
	return st.ContextSwitches, nil
}
