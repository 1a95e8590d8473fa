package sampler

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/cgroup"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// ProcessTime is the CPU time that a process, or a whole container, has used so far.
type ProcessTime struct {
	at           time.Time
	total        float64 // seconds, to the nanosecond
	user, system float64 // seconds, in ticks
}

// Process reads the CPU time of a process of this PID namespace.
func Process(pid int) (t ProcessTime, err error) {
	var ok bool
	if t.total, ok = CPUTime(pid); !ok {
		err = unix.ESRCH
	}
	var p procfs.Proc
	if err == nil {
		p, err = procfs.NewProc(pid)
	}
	var st procfs.ProcStat
	if err == nil {
		st, err = p.Stat()
	}
	if err != nil {
		return t, fmt.Errorf("sampler: read CPU time of process %d: %w", pid, err)
	}
	t.at, t.user, t.system = time.Now(), float64(st.UTime)/Ticks, float64(st.STime)/Ticks
	return t, nil
}

// Ticks is the kernel's USER_HZ, the unit in which it reports times of processes: 100 on every
// architecture that Go runs on.
const Ticks = 100

// CPUTime returns how many CPU seconds a process of this PID namespace has used so far, by its clock,
// whose id is composed as in clock_getcpuclockid(3). It returns false for a process that has ended or
// has no number here.
func CPUTime(pid int) (seconds float64, ok bool) {
	const schedClock = 2
	var ts unix.Timespec
	if pid <= 0 || unix.ClockGettime(int32(^pid<<3|schedClock), &ts) != nil {
		return 0, false
	}
	return float64(ts.Nano()) / 1e9, true
}

// Spent returns the CPU time used between two readings, in seconds.
func Spent(from, to ProcessTime) float64 { return max(0, to.total-from.total) }

// Between returns the CPU time used between two readings, scaled to a window of the given seconds.
// The total is exact; its parts are in the proportion of the ticks.
func Between(name string, from, to ProcessTime, window float64) record.ProcessCPU {
	elapsed := to.at.Sub(from.at).Seconds()
	if elapsed <= 0 {
		return record.ProcessCPU{Name: name}
	}
	total := Spent(from, to) * window / elapsed
	user, system := max(0, to.user-from.user), max(0, to.system-from.system)
	share := 0.0
	if user+system > 0 {
		share = user / (user + system)
	}
	return record.ProcessCPU{Name: name, User: total * share, System: total * (1 - share)}
}

// Cgroup returns the CPU time that all processes of a container have used since it began. It has to be
// read inside the container. proc is "/proc", sys is "/sys".
//
// With version 1 of control groups, the container's own are mounted. With version 2 it can also be the
// tree of the whole machine, if the container has no namespace of control groups, as with the setting
// "default-cgroupns-mode": "host" of Docker.
func Cgroup(proc, sys string) (time.Duration, error) {
	used, err := cgroupTime(proc, filepath.Join(sys, "fs/cgroup"))
	return used, wrap.Error(err, "sampler: CPU time of the container")
}

// cgroupTime is Cgroup for control groups that are mounted at a path.
func cgroupTime(proc, mounted string) (time.Duration, error) {
	for _, name := range []string{"cpuacct", "cpu,cpuacct"} { // distributions mount it alone or together with cpu
		used, err := readUsage(filepath.Join(mounted, name, "cpuacct.usage"), "", time.Nanosecond)
		if !errors.Is(err, os.ErrNotExist) {
			return used, err
		}
	}
	group, err := cgroup.Own(proc, mounted, "")
	if err != nil {
		return 0, err
	}
	used, err := readUsage(filepath.Join(group, "cpu.stat"), "usage_usec", time.Microsecond)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%s has no cpuacct.usage, and %s no cpu.stat", mounted, group)
	}
	return used, err
}

// CounterThrottled is the counter of throttled.
const CounterThrottled = "cgroup.nr_throttled"

// throttled returns in how many periods of a CPU limit, usually of 100 ms, this process's control group, or one that it is in, has
// used up what it may use, and had to wait. It is 0 where that is not known. With version 1 of control groups, a container's own are
// mounted, and its name for the machine is not found there.
func throttled(proc, sys string) (periods uint64) {
	mounted := filepath.Join(sys, "fs/cgroup")
	in := func(group string) (uint64, error) {
		n, err := readUsage(filepath.Join(group, "cpu.stat"), "nr_throttled", 1)
		return uint64(n), err
	}
	upward := func(group, top string) (periods uint64) {
		for ; strings.HasPrefix(group, top); group = filepath.Dir(group) {
			n, _ := in(group) // a group without the controller has none
			periods += n
		}
		return periods
	}
	for _, name := range []string{"cpu", "cpu,cpuacct"} { // see cgroupTime
		top := filepath.Join(mounted, name)
		if _, err := in(top); err == nil {
			group, err := cgroup.Name(proc, "cpu")
			if err != nil || strings.HasPrefix(group, "/..") {
				group = ""
			}
			return upward(filepath.Join(top, group), top)
		}
	}
	if group, err := cgroup.Own(proc, mounted, ""); err == nil {
		return upward(group, mounted)
	}
	return 0
}

// readUsage returns the usage in a file.
func readUsage(path, field string, unit time.Duration) (time.Duration, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := usage(string(text), field)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return time.Duration(n) * unit, nil
}

// usage returns the value of a field in lines of a name and a value each, or, without a field, the
// value that is the whole text.
func usage(text, field string) (int64, error) {
	value := strings.TrimSpace(text)
	if field != "" {
		value = ""
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, field+" "); ok {
				value = strings.TrimSpace(rest)
			}
		}
		if value == "" {
			return 0, fmt.Errorf("has no %s", field)
		}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d is negative", n)
	}
	return n, err
}

// Used returns the CPU time that a container had used at a time, not divided into user and system time.
func Used(at time.Time, cpu time.Duration) ProcessTime {
	return ProcessTime{at: at, total: cpu.Seconds()}
}

// Container asks for the CPU time of a container, which may be far away. The answer is dated to the
// middle of the call, and does not separate user from system time.
func Container(ask func() (time.Duration, error)) (ProcessTime, error) {
	began := time.Now()
	used, err := ask()
	return Used(began.Add(time.Since(began)/2), used), err
}
