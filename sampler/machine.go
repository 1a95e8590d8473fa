// Package sampler reads the kernel's data about the machine, processes and network namespaces while
// traffic flows: CPU time, counters, and the facts that determine whether two endpoints are
// comparable.
package sampler

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/record"
)

// CPU samples the CPU time of the whole machine.
type CPU struct {
	// Aside leaves out what this process uses, because it only measures: see Snapshot.Own.
	Aside bool

	fs   procfs.FS
	path string
	idle idleClock
}

// NewCPU returns a CPU that reads below proc ("/proc") and sys ("/sys").
func NewCPU(proc, sys string) (*CPU, error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	return &CPU{fs: fs, path: filepath.Join(proc, "stat"), idle: findIdleClock(proc, sys)}, nil
}

// Snapshot is the state of the machine at one moment, by its own clock.
type Snapshot struct {
	At   time.Time // see steady
	CPUs map[int64]procfs.CPUStat
	// Idle is the number of seconds that each CPU has been idle, by a finer clock than that of
	// CPUs. Clock is the name of that clock.
	Idle  map[int64]float64
	Clock string
	Took  float64 // CPU seconds that taking the snapshot used, right after At; 0 if Own has it
	// Switches is the number of context switches of all CPUs since the machine was started.
	Switches uint64
	// Own is the CPU seconds that nettoll's own process has used until At, if they are to be left out; otherwise 0.
	Own float64 `json:",omitzero"`
}

// Read takes a snapshot.
func (c *CPU) Read() (Snapshot, error) {
	runtime.LockOSThread() // threadTime is about this thread
	defer runtime.UnlockOSThread()
	began, own := threadTime(), 0.0
	if c.Aside {
		own = OwnTime()
	}
	idle, at, err := c.idle.read()
	clock := c.idle.name
	if err != nil { // although it could be read in findIdleClock
		idle, clock, at = nil, ClockStat, time.Now()
	}
	st, err := c.fs.Stat()
	if err != nil {
		return Snapshot{}, fmt.Errorf("sampler: read CPU time: %s: %w", c.path, err)
	}
	if len(st.CPU) == 0 {
		return Snapshot{}, fmt.Errorf("sampler: read CPU time: %s names no CPU", c.path)
	}
	took := 0.0
	if !c.Aside {
		took = (threadTime() - began).Seconds()
	}
	return Snapshot{At: steady(at), CPUs: st.CPU, Idle: idle, Clock: clock, Took: took, Switches: st.ContextSwitches, Own: own}, nil
}

// OwnTime returns the CPU seconds that this process has used.
func OwnTime() float64 { return cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID).Seconds() }

// reference is the moment from which steady counts.
var reference = time.Now()

// steady returns the same moment by a clock that nobody sets: the time of day at reference, and how long ago that was. A
// snapshot that is sent elsewhere loses its reading of the monotonic clock, and with the time of day alone, the time from
// one snapshot to another would contain what the machine's clock was set by in between.
func steady(at time.Time) time.Time { return reference.Add(at.Sub(reference)) }

// ErrNoTime is returned if no time lies between two readings, or if there are no readings.
var ErrNoTime = errors.New("sampler: no time passed between two readings of CPU time")

// Use returns what the machine did between two snapshots, scaled to a window of the given seconds,
// which the snapshots enclose except for scheduling delays.
//
// /proc/stat has user, system and softirq time in ticks of 10 ms, but there are finer clocks of idle
// time. Busy is therefore the elapsed time minus idle, iowait and steal, minus the CPU time of taking
// the first snapshot, and of what is to be left out between them. Errors of single CPUs may be
// negative and cancel in the sum; only the sum is at least 0.
func Use(from, to Snapshot, window float64) (record.MachineCPU, error) {
	m, err := use(from, to, window)
	m.Busy = max(0, m.Busy)
	return m, err
}

// Span is the time from one snapshot to another.
type Span struct{ From, To Snapshot }

// Across returns what the machine did in several spans together, and their length in seconds.
// Errors in Busy, which may be negative in each span, cancel in the sum.
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

// use is Use, except that Busy may be negative because of errors.
func use(from, to Snapshot, window float64) (record.MachineCPU, error) {
	elapsed := to.At.Sub(from.At).Seconds()
	if elapsed <= 0 || window <= 0 {
		return record.MachineCPU{}, ErrNoTime
	}
	scale := window / elapsed
	measuring := from.Took + to.Own - from.Own
	m := record.MachineCPU{Clock: ClockStat, Busy: -measuring * scale}
	if from.Clock == to.Clock && from.Clock != "" {
		m.Clock = from.Clock
	}
	for id, b := range to.CPUs {
		a, ok := from.CPUs[id]
		if !ok || restarted(from, to, id) {
			continue // came online in between
		}
		s := record.CPUSample{
			CPU:     int(id),
			User:    scale * max(0, b.User+b.Nice-a.User-a.Nice),
			System:  scale * max(0, b.System-a.System),
			Softirq: scale * max(0, b.SoftIRQ-a.SoftIRQ),
			IRQ:     scale * max(0, b.IRQ-a.IRQ),
			Steal:   scale * max(0, b.Steal-a.Steal),
			Idle:    scale * idleBetween(from, to, id, elapsed),
		}
		m.PerCPU = append(m.PerCPU, s)
		// In a virtual machine, what a halted CPU waits for to run again is stolen, and idle time, too.
		awake := window - s.Idle
		m.Busy += awake - max(0, min(s.Steal, awake))
		m.Softirq += s.Softirq
		m.Steal += s.Steal
	}
	slices.SortFunc(m.PerCPU, func(a, b record.CPUSample) int { return a.CPU - b.CPU })
	return m, nil
}

// restarted reports whether a CPU was offline in between: before Linux 6.8, its idle time begins at 0 again.
func restarted(from, to Snapshot, cpu int64) bool {
	const least = 1 // second; single readings go back by ticks
	idle, known := to.Idle[cpu]
	return to.CPUs[cpu].Idle < from.CPUs[cpu].Idle-least || known && from.Clock == to.Clock && idle < from.Idle[cpu]-least
}

// Baseline is a machine's own CPU use, from watching it while nothing is measured: all its CPU
// seconds over all the seconds watched. The mean of the rates of single observations would weight
// short ones like long ones, and their median would leave out processes that run only now and then,
// but also during trials.
type Baseline struct {
	Busy    float64 // CPU seconds
	Watched float64 // seconds
}

// Watch adds what the machine did between two snapshots. If errors make that negative, it is added
// unchanged, since errors cancel.
func (b *Baseline) Watch(from, to Snapshot) error {
	elapsed := to.At.Sub(from.At).Seconds()
	used, err := use(from, to, elapsed)
	if err != nil {
		return err
	}
	b.Busy += used.Busy
	b.Watched += elapsed
	return nil
}

// Rate returns CPU seconds per second, which may be negative because of errors.
func (b Baseline) Rate() float64 {
	if b.Watched <= 0 {
		return 0
	}
	return b.Busy / b.Watched
}
