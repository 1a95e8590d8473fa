package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

// timerList writes the relevant parts of the kernel's timer list, at 10 s.
func timerList(cpus ...string) string {
	text := "Timer List Version: v0.10\nHRTIMER_MAX_CLOCK_BASES: 8\nnow at 10000000000 nsecs\n\n"
	for i, c := range cpus {
		text += fmt.Sprintf("cpu: %d\n clock 0:\n  .base:       0000000000000000\n  .index:      0\nactive timers:\n", i)
		text += " #0: <0000000000000000>, tick_nohz_handler, S:01\n # expires at 10004000000-10004000000 nsecs [in 4000000 to 4000000 nsecs]\n"
		text += c + "jiffies: 4294900000\n\n"
	}
	return text + "Tick Device: mode:     1\nBroadcast device\nClock Event Device: <NULL>\ntick_broadcast_mask: 0\n\ncpu: 9\n"
}

// tick writes the entry of a CPU in the timer list.
func tick(stopped int, entered, left, slept, waited int64) string {
	return fmt.Sprintf("  .nohz           : 1\n  .highres        : 1\n  .tick_stopped   : %d\n  .idle_jiffies   : 1\n"+
		"  .idle_entrytime : %d nsecs\n  .idle_waketime  : 1 nsecs\n  .idle_exittime  : %d nsecs\n"+
		"  .idle_sleeptime : %d nsecs\n  .iowait_sleeptime: %d nsecs\n  .last_jiffies   : 1\n", stopped, entered, left, slept, waited)
}

func TestParseTimerList(t *testing.T) {
	now, idle, err := parseTimerList([]byte(timerList(
		tick(0, 9_000_000_000, 8_000_000_000, 1_500_000_001, 500_000_000),   // idle or not: not known
		tick(1, 7_000_000_000, 6_000_000_000, 2_000_000_000, 0),             // idle for 3 s
		tick(1, 7_000_000_000, 7_000_000_000, 2_000_000_000, 0),             // busy without a tick
		tick(1, 10_000_000_005, 6_000_000_000, 3_000_000_000, 0),            // became idle after the list was begun
		strings.Replace(tick(0, 5, 5, 7, 0), ".nohz     ", ".nohz_mode", 1), // before Linux 6.9
	)))
	want := map[int64]float64{0: 2.000000001, 1: 5, 2: 2, 3: 3, 4: 7e-9}
	if err != nil || now != 10e9 {
		t.Errorf("at %d, error %v", now, err)
	}
	if diff := cmp.Diff(want, idle, nearly); diff != "" {
		t.Errorf("idle seconds (-want +got):\n%s", diff)
	}
	whole := timerList(tick(0, 1, 1, 1, 1))
	for name, text := range map[string]string{
		"nothing":       "",
		"no CPU":        timerList(),
		"no time":       strings.Replace(whole, "now at", "then at", 1),
		"no tick":       strings.Replace(whole, ".nohz           : 1", ".nohz           : 0", 1),
		"half a CPU":    strings.Replace(whole, ".idle_sleeptime", ".another", 1),
		"no number":     strings.Replace(whole, ".idle_sleeptime : 1", ".idle_sleeptime : one", 1),
		"less than 0":   strings.Replace(whole, ".idle_sleeptime : 1", ".idle_sleeptime : -1", 1),
		"a jump":        strings.Replace(whole, "now at 10000000000", "now at 99999999999999999999", 1),
		"cut in a name": whole[:strings.Index(whole, ".idle_exit")+6],
	} {
		if _, idle, err := parseTimerList([]byte(text)); err == nil {
			t.Errorf("%s: idle %v and no error", name, idle)
		}
	}
}

// TestTheFinestClockIsTaken checks that a coarser clock is used, and named, if a finer one cannot be
// read.
func TestTheFinestClockIsTaken(t *testing.T) {
	proc, sys := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		iferr.Fatal(t, os.MkdirAll(filepath.Dir(path), 0o755))
		iferr.Fatal(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(filepath.Join(proc, "stat"), "cpu  1 0 0 1 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\n")
	check := func(want string, idle map[int64]float64) {
		t.Helper()
		c, err := NewCPU(proc, sys)
		iferr.Fatal(t, err)
		s, err := c.Read()
		if err != nil || s.Clock != want || s.At.IsZero() || s.Took <= 0 {
			t.Errorf("%q at %v in %v s, error %v, want %q", s.Clock, s.At, s.Took, err, want)
		}
		if diff := cmp.Diff(idle, s.Idle, nearly); diff != "" {
			t.Errorf("idle seconds by %s (-want +got):\n%s", want, diff)
		}
	}
	check(ClockStat, nil)
	for state, us := range []string{"250000\n", "1000000\n"} {
		write(filepath.Join(sys, fmt.Sprintf("devices/system/cpu/cpu0/cpuidle/state%d/time", state)), us)
	}
	check(ClockCPUIdle, map[int64]float64{0: 1.25})
	write(filepath.Join(proc, "timer_list"), timerList(tick(0, 1, 1, 3_000_000_000, 0)))
	check(ClockTimerList, map[int64]float64{0: 3})
	write(filepath.Join(proc, "timer_list"), "Timer List Version: v0.10\n")
	check(ClockCPUIdle, map[int64]float64{0: 1.25})
}

// TestAClockIsJudgedByOneThread has a reading of a clock wait for a goroutine that takes over the reader's thread, if Go can give
// the reader another one meanwhile. CPU times of two threads say nothing about the reading.
func TestAClockIsJudgedByOneThread(t *testing.T) {
	threads := map[int]bool{}
	idleClock{"judged", func() (map[int64]float64, time.Time, error) {
		for range 50 {
			threads[unix.Gettid()] = true
			woken := make(chan struct{})
			go func() {
				close(woken)
				for began := time.Now(); time.Since(began) < time.Millisecond; {
				}
			}()
			<-woken
		}
		return nil, time.Now(), nil
	}}.cheap()
	if len(threads) != 1 {
		t.Errorf("one reading ran on %d threads", len(threads))
	}
}

// TestIdleBetween checks how two clocks are combined.
func TestIdleBetween(t *testing.T) {
	for _, c := range []struct {
		name                string
		clock               string
		fine, coarse, after float64 // between the snapshots, and the time that passed
		want                float64
	}{
		{"ns", ClockTimerList, 0.0512345, 0.06, 0.2, 0.0512345},
		{"µs, short sleeps", ClockCPUIdle, 0.051234, 0.06, 0.2, 0.051234},
		{"µs, a sleep from long before", ClockCPUIdle, 3.2, 0.1, 0.2, 0.1},
		{"µs, a sleep that goes on", ClockCPUIdle, 0.01, 0.12, 0.2, 0.12},
		{"µs, asleep all the time", ClockCPUIdle, 0, 0.2, 0.2034, 0.2034},
		{"µs, never asleep", ClockCPUIdle, 0, 0, 0.2, 0},
		{"ticks", ClockStat, 0, 0.05, 0.2, 0.05},
	} {
		from, to := at(1, map[int64]procfs.CPUStat{0: {Idle: 7}}), at(1+c.after, map[int64]procfs.CPUStat{0: {Idle: 7 + c.coarse}})
		from.Clock, to.Clock = c.clock, c.clock
		if c.clock != ClockStat {
			from.Idle, to.Idle = map[int64]float64{0: 5}, map[int64]float64{0: 5 + c.fine}
		}
		if got := idleBetween(from, to, 0, c.after); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%s: %v s, want %v", c.name, got, c.want)
		}
	}
}

// TestIdleTimeLeavesRoomForAKnownLoad uses a CPU for some milliseconds, by the clock of the thread,
// and sleeps for some: the CPU cannot have been idle for longer than the rest of that time. A clock
// of 10 ms reports more in one of three such periods.
func TestIdleTimeLeavesRoomForAKnownLoad(t *testing.T) {
	c, err := NewCPU("/proc", "/sys")
	iferr.Fatal(t, err)
	// With the timers of many processes, reading the list can be too dear now and then.
	for try := 0; c.idle.name != ClockTimerList && timerListClock("/proc/timer_list").cheap(); try++ {
		if try == 5 {
			t.Fatalf("the clock is %s, though /proc/timer_list can be read", c.idle.name)
		}
		c, err = NewCPU("/proc", "/sys")
		iferr.Fatal(t, err)
	}
	if c.idle.name == ClockStat {
		t.Skip("needs /proc/timer_list (root) or cpuidle: there is no clock here but that of 10 ms")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	iferr.Fatal(t, unix.SchedGetaffinity(0, &before))
	defer unix.SchedSetaffinity(0, &before)
	cpu := 0
	for !before.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	iferr.Fatal(t, unix.SchedSetaffinity(0, &one))
	const rounds = 50
	wrong := 0
	for range rounds {
		from, err := c.Read()
		iferr.Fatal(t, err)
		spun := threadTime()
		for threadTime()-spun < 6*time.Millisecond {
		}
		time.Sleep(2 * time.Millisecond)
		busy := (threadTime() - spun).Seconds()
		to, err := c.Read()
		iferr.Fatal(t, err)
		elapsed := to.At.Sub(from.At).Seconds()
		if idle := idleBetween(from, to, int64(cpu), elapsed); idle > elapsed-busy+0.0005 {
			wrong++
		}
	}
	if wrong > rounds/20 { // the thread can lose its CPU between a reading and its time
		t.Errorf("in %d of %d whiles the CPU was idle for longer than it can have been", wrong, rounds)
	}
}
