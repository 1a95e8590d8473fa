package sampler

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// Clocks of idle time. The finest comes first.
const (
	// ClockTimerList is /proc/timer_list, in nanoseconds. Only the machine's real root may read it, and
	// containers do not have it.
	ClockTimerList = "timer_list"
	// ClockCPUIdle is /sys/devices/system/cpu/cpuN/cpuidle, in microseconds. It counts an idle period
	// when it ends.
	ClockCPUIdle = "cpuidle"
	// ClockStat is /proc/stat, in ticks of 10 ms (USER_HZ), whatever the kernel's own resolution.
	ClockStat = record.ClockStat
)

// quantum is the tick of /proc/stat in seconds.
const quantum = 1.0 / Ticks

// dearest is how much CPU time a reading of /proc/timer_list may take. The file lists all timers of
// all CPUs: a CPU with few timers takes 0.05 ms, and n timers take n² steps.
const dearest = 5 * time.Millisecond

// idleClock reads the time that each CPU has been idle, and when that was read.
type idleClock struct {
	name string
	read func() (idle map[int64]float64, at time.Time, err error) // seconds
}

// findIdleClock finds the finest clock below proc and sys.
func findIdleClock(proc, sys string) idleClock {
	if clock := timerListClock(filepath.Join(proc, "timer_list")); clock.cheap() {
		return clock
	}
	if clock := cpuidleClock(sys); clock.cheap() { // opens files
		return clock
	}
	return idleClock{ClockStat, func() (map[int64]float64, time.Time, error) { return nil, time.Now(), nil }}
}

// cheap reports whether the clock can be read for no more than dearest.
func (c idleClock) cheap() bool {
	runtime.LockOSThread() // threadTime is about this thread
	defer runtime.UnlockOSThread()
	const tries = 5 // an interrupt, or the hypervisor, can add to the CPU time of one reading
	for range tries {
		began := threadTime()
		if _, _, err := c.read(); err != nil {
			return false
		}
		if threadTime()-began <= dearest {
			return true
		}
	}
	return false
}

// threadTime returns the CPU time of the calling thread.
func threadTime() time.Duration { return cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) }

func cpuTime(clock int32) time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(clock, &ts) // cannot fail
	return time.Duration(ts.Nano())
}

func timerListClock(path string) idleClock {
	return idleClock{ClockTimerList, func() (map[int64]float64, time.Time, error) {
		began := time.Now()
		text, err := readTimerList(path)
		if err != nil {
			return nil, time.Time{}, err
		}
		now, idle, err := parseTimerList(text)
		var mono unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono)
		// The kernel notes the time at which it begins the list, so it cannot be earlier than began, except in tests
		// that simulate Go's clock.
		at := time.Now().Add(-time.Duration(mono.Nano() - now))
		if at.Before(began) {
			at = began
		}
		return idle, at, err
	}}
}

// readTimerList reads the list of CPUs. The list of devices that follows is left out.
func readTimerList(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, 0, 1<<14)
	for {
		text = slices.Grow(text, 1<<13)
		n, err := f.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF || bytes.Contains(text, devices) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

var devices = []byte("\nTick Device:")

// parseTimerList returns the time of CLOCK_MONOTONIC in ns at which the kernel listed its timers, and
// the seconds that each CPU had been idle by then.
//
// When an idle period ends, the kernel adds it to idle_sleeptime or iowait_sleeptime. A period that
// has lasted since idle_entrytime is added here if it certainly continues: the tick is stopped, and
// the CPU has not left the idle loop since (a nohz_full CPU runs without a tick, too). If the tick is
// running, it ends the period every few milliseconds, and the file does not show whether the CPU is
// idle: nothing is added. The error, at most a tick at either edge, is equally likely at both.
func parseTimerList(text []byte) (now int64, idle map[int64]float64, err error) {
	idle = map[int64]float64{}
	var cpu, stopped, entered, left, slept int64
	fields := map[string]*int64{
		".tick_stopped": &stopped, ".idle_entrytime": &entered, ".idle_exittime": &left, ".idle_sleeptime": &slept,
	}
	if end := bytes.Index(text, devices); end >= 0 {
		text = text[:end]
	}
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(" #")) {
			continue // most lines are timers
		}
		words := bytes.Fields(bytes.Replace(line, []byte(":"), []byte(" : "), 1))
		if len(words) < 3 {
			continue
		}
		name, value := string(words[0]), words[2]
		into, known := fields[name]
		switch {
		case name == "now" && string(words[1]) == "at":
			into = &now
		case name == "cpu":
			into, stopped, entered, left, slept = &cpu, -1, -1, -1, -1
		case name == ".nohz_mode" || name == ".nohz":
			if string(value) == "0" {
				return 0, nil, errors.New("the kernel keeps no idle time: its tick never stops")
			}
			continue
		case name == ".iowait_sleeptime":
			into = new(int64)
		case !known:
			continue
		}
		if *into, err = strconv.ParseInt(string(value), 10, 64); err != nil || *into < 0 {
			return 0, nil, fmt.Errorf("%s of CPU %d is %q", name, cpu, value)
		}
		if name != ".iowait_sleeptime" {
			continue
		}
		if min(stopped, entered, left, slept) < 0 {
			return 0, nil, fmt.Errorf("the entry of CPU %d is incomplete", cpu)
		}
		sum := float64(slept) + float64(*into)
		if stopped == 1 && entered > left && entered < now {
			sum += float64(now - entered)
		}
		idle[cpu] = sum / 1e9
	}
	if now == 0 || len(idle) == 0 {
		return 0, nil, errors.New("no idle times of CPUs")
	}
	return now, idle, nil
}

// cpuidleClock returns a clock that adds up the times of all idle states of each CPU.
func cpuidleClock(sys string) idleClock {
	type state struct {
		cpu  int64
		file *os.File
	}
	var states []state
	paths, _ := filepath.Glob(filepath.Join(sys, "devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*/time"))
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		cpu, err := strconv.ParseInt(name[len("cpu"):], 10, 64)
		if err != nil {
			continue
		}
		if file, err := os.Open(path); err == nil {
			states = append(states, state{cpu, file})
		}
	}
	return idleClock{ClockCPUIdle, func() (map[int64]float64, time.Time, error) {
		if len(states) == 0 {
			return nil, time.Time{}, errors.New("the kernel keeps no idle states")
		}
		at, idle, b := time.Now(), map[int64]float64{}, make([]byte, 32)
		for _, s := range states {
			n, err := s.file.ReadAt(b, 0)
			if err != nil && err != io.EOF {
				delete(idle, s.cpu) // the CPU went offline
				continue
			}
			us, err := strconv.ParseUint(string(bytes.TrimSpace(b[:n])), 10, 64)
			if err != nil {
				return nil, at, fmt.Errorf("%s: %w", s.file.Name(), err)
			}
			idle[s.cpu] += float64(us) / 1e6
		}
		return idle, at, nil
	}}
}

// idleBetween returns how many seconds a CPU was idle between two snapshots.
//
// cpuidle lacks the idle periods that continue at either edge. If they add up to more than a tick of
// /proc/stat, which includes them, the difference shows, and the value of /proc/stat is used, to
// 10 ms. If both clocks show that a CPU was idle all the time, it never left its idle state.
func idleBetween(from, to Snapshot, cpu int64, elapsed float64) float64 {
	a, b := from.CPUs[cpu], to.CPUs[cpu]
	coarse := max(0, b.Idle+b.Iowait-a.Idle-a.Iowait)
	x, before := from.Idle[cpu]
	y, after := to.Idle[cpu]
	if from.Clock != to.Clock || !before || !after {
		return coarse
	}
	fine := max(0, y-x)
	if from.Clock != ClockCPUIdle {
		return fine
	}
	switch {
	case fine == 0 && coarse >= elapsed-quantum:
		return elapsed
	case fine > coarse+quantum || fine < coarse-quantum:
		return coarse
	}
	return fine
}
