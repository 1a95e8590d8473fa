// Package sampler reads what the kernel says of the machine, of processes and of
// network namespaces while traffic flows: CPU time, counters, and the facts that
// make two endpoints comparable or not.
package sampler

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/record"
)

// CPU samples the CPU time of the whole machine.
type CPU struct {
	fs   procfs.FS
	path string
	idle idleClock
}

// NewCPU reads below proc ("/proc") and sys ("/sys").
func NewCPU(proc, sys string) (*CPU, error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	return &CPU{fs, filepath.Join(proc, "stat"), findIdleClock(proc, sys)}, nil
}

// Snapshot is the machine at one moment, by its own clock.
type Snapshot struct {
	At   time.Time
	CPUs map[int64]procfs.CPUStat
	// Idle is for how many seconds each CPU has been idle by a finer clock than that of
	// CPUs, with its name.
	Idle  map[int64]float64
	Clock string
	Took  float64 // CPU seconds of taking the snapshot, right behind At
}

// Read takes a snapshot.
func (c *CPU) Read() (Snapshot, error) {
	runtime.LockOSThread() // whose CPU time is read
	defer runtime.UnlockOSThread()
	began := threadTime()
	idle, at, err := c.idle.read()
	clock := c.idle.name
	if err != nil { // it could be read before
		idle, clock, at = nil, ClockStat, time.Now()
	}
	st, err := c.fs.Stat()
	if err != nil {
		return Snapshot{}, fmt.Errorf("sampler: read CPU time: %s: %w", c.path, err)
	}
	if len(st.CPU) == 0 {
		return Snapshot{}, fmt.Errorf("sampler: read CPU time: %s names no CPU", c.path)
	}
	return Snapshot{At: at, CPUs: st.CPU, Idle: idle, Clock: clock, Took: (threadTime() - began).Seconds()}, nil
}

// ErrNoTime is of two readings that are one, or were never made.
var ErrNoTime = errors.New("sampler: no time passed between two readings of CPU time")

// Use is what the machine did between two snapshots, scaled to a window of so
// many seconds, which the snapshots enclose but for scheduling delays.
//
// /proc/stat tells user, system and softirq time in ticks of 10 ms, and there are finer
// clocks of idle time. Busy is therefore what is left of the elapsed time after idle,
// iowait and steal, less what taking the first snapshot took. Errors of single CPUs may
// be negative and cancel in the sum, which alone is no less than nothing.
func Use(from, to Snapshot, window float64) (record.MachineCPU, error) {
	m, err := use(from, to, window)
	m.Busy = positive(m.Busy)
	return m, err
}

// Span is from one snapshot to another.
type Span struct{ From, To Snapshot }

// Across is what the machine did in several spans together, and how many seconds they are.
// Errors in Busy, which may be negative in each, cancel in the sum.
func Across(spans []Span) (sum record.MachineCPU, elapsed float64, err error) {
	places := map[int]int{}
	for i, s := range spans {
		length := s.To.At.Sub(s.From.At).Seconds()
		one, err := use(s.From, s.To, length)
		if err != nil {
			return sum, 0, err
		}
		if elapsed += length; i == 0 {
			sum.Clock = one.Clock
		} else if one.Clock != sum.Clock {
			sum.Clock = ClockStat
		}
		sum.Busy, sum.Softirq, sum.Steal = sum.Busy+one.Busy, sum.Softirq+one.Softirq, sum.Steal+one.Steal
		for _, c := range one.PerCPU {
			at, ok := places[c.CPU]
			if !ok {
				at = len(sum.PerCPU)
				places[c.CPU] = at
				sum.PerCPU = append(sum.PerCPU, record.CPUSample{CPU: c.CPU})
			}
			to := &sum.PerCPU[at]
			to.User, to.System, to.Softirq = to.User+c.User, to.System+c.System, to.Softirq+c.Softirq
			to.IRQ, to.Steal, to.Idle = to.IRQ+c.IRQ, to.Steal+c.Steal, to.Idle+c.Idle
		}
	}
	if len(spans) == 0 {
		return sum, 0, ErrNoTime
	}
	return sum, elapsed, nil
}

// use is Use with a sum of errors that may be negative.
func use(from, to Snapshot, window float64) (record.MachineCPU, error) {
	elapsed := to.At.Sub(from.At).Seconds()
	if elapsed <= 0 || window <= 0 {
		return record.MachineCPU{}, ErrNoTime
	}
	scale := window / elapsed
	m := record.MachineCPU{Clock: ClockStat, Busy: -from.Took * scale}
	if from.Clock == to.Clock && from.Clock != "" {
		m.Clock = from.Clock
	}
	for id, b := range to.CPUs {
		a, ok := from.CPUs[id]
		if !ok {
			continue // came online in between
		}
		s := record.CPUSample{
			CPU:     int(id),
			User:    scale * positive(b.User+b.Nice-a.User-a.Nice),
			System:  scale * positive(b.System-a.System),
			Softirq: scale * positive(b.SoftIRQ-a.SoftIRQ),
			IRQ:     scale * positive(b.IRQ-a.IRQ),
			Steal:   scale * positive(b.Steal-a.Steal),
			Idle:    scale * idleBetween(from, to, id, elapsed),
		}
		m.PerCPU = append(m.PerCPU, s)
		m.Busy += window - s.Idle - s.Steal
		m.Softirq += s.Softirq
		m.Steal += s.Steal
	}
	slices.SortFunc(m.PerCPU, func(a, b record.CPUSample) int { return a.CPU - b.CPU })
	return m, nil
}

func positive(x float64) float64 { return max(0, x) }
