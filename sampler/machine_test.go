package sampler

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// at returns a snapshot of CPUs at a second of an invented clock.
func at(second float64, cpus map[int64]procfs.CPUStat) Snapshot {
	return Snapshot{At: time.Unix(0, int64(second*1e9)), CPUs: cpus}
}

var nearly = cmpopts.EquateApprox(0, 1e-9)

func TestUseScalesToTheWindow(t *testing.T) {
	from := at(100, map[int64]procfs.CPUStat{
		0: {User: 10, Nice: 1, System: 5, SoftIRQ: 2, IRQ: 1, Steal: 3, Idle: 50, Iowait: 4},
		1: {User: 20, Idle: 60},
	})
	to := at(104, map[int64]procfs.CPUStat{ // 4 s later
		0: {User: 11, Nice: 1.4, System: 5.6, SoftIRQ: 2.2, IRQ: 1.1, Steal: 3.3, Idle: 51, Iowait: 4.2},
		1: {User: 20, Idle: 64},
	})
	got, err := Use(from, to, 2) // everything halved
	iferr.Fatal(t, err)
	want := record.MachineCPU{
		// CPU 0: 2 s minus 0.6 idle and iowait, minus 0.15 steal; CPU 1: nothing.
		Busy: 1.25, Clock: ClockStat, Softirq: 0.1, Steal: 0.15,
		PerCPU: []record.CPUSample{
			{CPU: 0, User: 0.7, System: 0.3, Softirq: 0.1, IRQ: 0.05, Steal: 0.15, Idle: 0.6},
			{CPU: 1, Idle: 2},
		},
	}
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Errorf("use (-want +got):\n%s", diff)
	}
}

func TestUseIsNeverNegative(t *testing.T) {
	// Idle time can go backwards, and run ahead of the clock by a tick.
	from := at(1, map[int64]procfs.CPUStat{0: {User: 5, Idle: 9, Iowait: 7}, 1: {Idle: 0}})
	to := at(2, map[int64]procfs.CPUStat{0: {User: 4, Idle: 9, Iowait: 6}, 1: {Idle: 1.01}})
	got, err := Use(from, to, 1)
	iferr.Fatal(t, err)
	// An excess of one CPU makes up for a lack of another: the sum is right.
	want := record.MachineCPU{Busy: 0.99, Clock: ClockStat, PerCPU: []record.CPUSample{{CPU: 0}, {CPU: 1, Idle: 1.01}}}
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Errorf("use (-want +got):\n%s", diff)
	}
	from.CPUs, to.CPUs = map[int64]procfs.CPUStat{0: {}}, map[int64]procfs.CPUStat{0: {Idle: 1.01}}
	if got, err := Use(from, to, 1); err != nil || got.Busy != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestStolenTimeThatIsIdle has CPUs of a virtual machine: one is halted, and waits to run again for a tick; one works.
func TestStolenTimeThatIsIdle(t *testing.T) {
	from := at(1, map[int64]procfs.CPUStat{0: {}, 1: {}})
	to := at(2, map[int64]procfs.CPUStat{0: {Steal: 0.01, Idle: 0.99}, 1: {User: 0.7, Steal: 0.2, Idle: 0.1}})
	from.Clock, from.Idle = "timer_list", map[int64]float64{0: 0, 1: 0}
	to.Clock, to.Idle = from.Clock, map[int64]float64{0: 0.997, 1: 0.1}
	got, err := Use(from, to, 1)
	iferr.Fatal(t, err)
	if math.Abs(got.Busy-0.7) > 1e-9 || math.Abs(got.Steal-0.21) > 1e-9 {
		t.Errorf("busy %v, stolen %v, want 0.7 and 0.21", got.Busy, got.Steal)
	}
}

func TestUseLeavesOutWhatReadingTook(t *testing.T) {
	from, to := at(1, map[int64]procfs.CPUStat{0: {}}), at(2, map[int64]procfs.CPUStat{0: {Idle: 0.5}})
	from.Took, to.Took = 0.1, 0.3 // the second one is after the window
	if got, err := Use(from, to, 2); err != nil || math.Abs(got.Busy-0.8) > 1e-9 {
		t.Errorf("busy %v, want 0.8 (%v)", got.Busy, err)
	}
	from.Own, to.Own = 10, 10.2 // of another process that only measures
	if got, err := Use(from, to, 2); err != nil || math.Abs(got.Busy-0.4) > 1e-9 {
		t.Errorf("busy %v, want 0.4 (%v)", got.Busy, err)
	}
}

// TestOwnWorkIsLeftOut has this process work between two snapshots, which is left out if it is asked for.
func TestOwnWorkIsLeftOut(t *testing.T) {
	c, err := NewCPU("/proc", "/sys")
	iferr.Fatal(t, err)
	runtime.LockOSThread() // threadTime is about this thread
	defer runtime.UnlockOSThread()
	for _, c.Aside = range []bool{false, true} {
		from, err := c.Read()
		iferr.Fatal(t, err)
		for began := threadTime(); threadTime()-began < 50*time.Millisecond; {
			runtime.Gosched()
		}
		to, err := c.Read()
		iferr.Fatal(t, err)
		if c.Aside == (from.Took > 0) {
			t.Errorf("aside: %v: reading took %v s", c.Aside, from.Took)
		}
		if worked := to.Own - from.Own; c.Aside && worked < 0.04 || !c.Aside && worked != 0 {
			t.Errorf("aside: %v: %v s of own work", c.Aside, worked)
		}
	}
}

func TestUseLeavesOutCPUsThatCameOrWent(t *testing.T) {
	from := at(1, map[int64]procfs.CPUStat{0: {Idle: 1}, 2: {Idle: 1}})
	to := at(2, map[int64]procfs.CPUStat{0: {Idle: 1.5}, 3: {User: 1000, Idle: 1}})
	got, err := Use(from, to, 1)
	iferr.Fatal(t, err)
	want := record.MachineCPU{Busy: 0.5, Clock: ClockStat, PerCPU: []record.CPUSample{{CPU: 0, Idle: 0.5}}}
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Errorf("use (-want +got):\n%s", diff)
	}
}

// TestUseLeavesOutCPUsThatWereOffline: before Linux 6.8, the idle time of such a CPU begins at 0 again, and it would count as busy.
func TestUseLeavesOutCPUsThatWereOffline(t *testing.T) {
	from := at(1, map[int64]procfs.CPUStat{0: {Idle: 100}, 1: {Idle: 100}})
	to := at(2, map[int64]procfs.CPUStat{0: {Idle: 100.6}, 1: {Idle: 0.5}})
	for _, clock := range []string{"", "timer_list"} {
		from.Clock, to.Clock = clock, clock
		if clock != "" {
			from.Idle, to.Idle = map[int64]float64{0: 200, 1: 200}, map[int64]float64{0: 200.6, 1: 0.5}
		}
		got, err := Use(from, to, 1)
		iferr.Fatal(t, err)
		if math.Abs(got.Busy-0.4) > 1e-9 || len(got.PerCPU) != 1 {
			t.Errorf("%q: %+v", clock, got)
		}
	}
}

// TestUseOfClocksThatCannotBeCompared: idle times by different clocks have no difference, and one that has gone back by some ticks
// is no reason to leave the CPU out.
func TestUseOfClocksThatCannotBeCompared(t *testing.T) {
	from, to := at(1, map[int64]procfs.CPUStat{0: {Idle: 100}}), at(2, map[int64]procfs.CPUStat{0: {Idle: 100.6}})
	from.Idle, to.Idle = map[int64]float64{0: 200}, map[int64]float64{0: 200.9}
	from.Clock, to.Clock = ClockTimerList, ClockCPUIdle
	got, err := Use(from, to, 1)
	if err != nil || math.Abs(got.Busy-0.4) > 1e-9 || got.Clock != ClockStat {
		t.Errorf("%+v, %v", got, err)
	}
	to.Clock, to.Idle[0] = ClockTimerList, 199.98
	if got, err := Use(from, to, 1); err != nil || got.Busy != 1 || len(got.PerCPU) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSpansTogether adds up spans of which one seems to have been idle for longer than it lasted: errors cancel in the sum. What was
// stolen in it is then taken for idle time.
func TestSpansTogether(t *testing.T) {
	idle := func(from, to, idle float64, clock string) Span {
		s := Span{at(from, map[int64]procfs.CPUStat{0: {Idle: 5, User: 7}}), at(to, map[int64]procfs.CPUStat{0: {Idle: 5 + idle, User: 7.25, Steal: 0.125}})}
		s.From.Clock, s.To.Clock = clock, clock
		return s
	}
	spans := []Span{idle(1, 2, 0.5, ClockTimerList), idle(3, 4, 1.25, ClockTimerList)}
	sum, elapsed, err := Across(spans)
	want := record.MachineCPU{Busy: 0.125, Steal: 0.25, Clock: ClockTimerList, PerCPU: []record.CPUSample{{User: 0.5, Steal: 0.25, Idle: 1.75}}}
	if diff := cmp.Diff(want, sum, nearly); diff != "" || elapsed != 2 || err != nil {
		t.Errorf("in %v s, %v (-want +got):\n%s", elapsed, err, diff)
	}
	if sum, _, _ := Across(append(spans, idle(5, 6, 0.5, ClockCPUIdle))); sum.Clock != ClockStat {
		t.Errorf("by two clocks, and said to be by %s", sum.Clock)
	}
	var b Baseline
	for _, s := range spans {
		iferr.Fatal(t, b.Watch(s.From, s.To))
	}
	if math.Abs(b.Rate()-0.0625) > 1e-9 {
		t.Errorf("%v CPU seconds per second, want 0.0625", b.Rate())
	}
	iferr.Fatal(t, b.Watch(spans[1].From, spans[1].To))
	if math.Abs(b.Rate()+0.125/3) > 1e-9 {
		t.Errorf("%v CPU seconds per second, want %v", b.Rate(), -0.125/3)
	}
}

// TestAnswersAreOfTheMiddle has a container that takes a second to answer.
func TestAnswersAreOfTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		got, err := Container(func() (time.Duration, error) { time.Sleep(time.Second); return time.Minute, nil })
		if err != nil || got.at.Sub(began) != time.Second/2 || got.total != 60 {
			t.Errorf("%v s after %v, %v", got.total, got.at.Sub(began), err)
		}
	})
}

// TestTicksDivideTheTime checks that the parts of a process's CPU time are in the proportion of its ticks.
func TestTicksDivideTheTime(t *testing.T) {
	from := ProcessTime{at: time.Unix(1, 0), total: 3, user: 1, system: 2}
	to := ProcessTime{at: time.Unix(3, 0), total: 4.2, user: 1.25, system: 2.75}
	if got := Between("p", from, to, 1); math.Abs(got.User-0.15) > 1e-9 || math.Abs(got.System-0.45) > 1e-9 {
		t.Errorf("%+v, want 0.15 of user time and 0.45 of the system's", got)
	}
}

func TestUseNeedsTime(t *testing.T) {
	s := at(1, map[int64]procfs.CPUStat{0: {}})
	later := at(2, s.CPUs)
	for name, err := range map[string]error{
		"same moment":   second(Use(s, s, 1)),
		"backwards":     second(Use(later, s, 1)),
		"no window":     second(Use(s, later, 0)),
		"never opened":  second(Use(Snapshot{}, Snapshot{}, 1)),
		"never closed":  second(Use(s, Snapshot{}, 1)),
		"minus windows": second(Use(s, later, -1)),
	} {
		if err == nil || !strings.Contains(err.Error(), "no time passed") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func second[A any](_ A, err error) error { return err }

func TestReadTakesSecondsFromStat(t *testing.T) {
	c, err := NewCPU("testdata/proc", "testdata/none")
	iferr.Fatal(t, err)
	got, err := c.Read()
	iferr.Fatal(t, err)
	want := map[int64]procfs.CPUStat{
		0: {User: 12, Nice: 0.6, System: 5, Idle: 190, Iowait: 3, IRQ: 0.1, SoftIRQ: 0.5, Steal: 1},
		1: {User: 8, Nice: 0.4, System: 3, Idle: 210, Iowait: 3, IRQ: 0.2, SoftIRQ: 0.2, Steal: 3},
	}
	if diff := cmp.Diff(want, got.CPUs, nearly); diff != "" {
		t.Errorf("CPU times (-want +got):\n%s", diff)
	}
}

func TestThisMachineIsBusyWithinItsCPUs(t *testing.T) {
	c, err := NewCPU("/proc", "/sys")
	iferr.Fatal(t, err)
	from, err := c.Read()
	iferr.Fatal(t, err)
	time.Sleep(30 * time.Millisecond)
	to, err := c.Read()
	iferr.Fatal(t, err)
	use, err := Use(from, to, 1)
	iferr.Fatal(t, err)
	if len(use.PerCPU) == 0 || use.Busy < 0 || math.IsNaN(use.Busy) || use.Busy > float64(len(use.PerCPU)) {
		t.Errorf("busy %v s of %d CPUs in one second", use.Busy, len(use.PerCPU))
	}
}

func TestReadNamesTheFileThatIsWrong(t *testing.T) {
	for name, text := range map[string]string{
		"empty":       "",
		"no CPU":      "cpu  1 2 3 4 5 6 7 8 9 10\nbtime 5\n",
		"not numbers": "cpu0 a b c d\n",
		"no such CPU": "cpux 1 2 3 4\n",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "stat")
		iferr.Fatal(t, os.WriteFile(path, []byte(text), 0o644))
		c, err := NewCPU(dir, "testdata/none")
		iferr.Fatal(t, err)
		if _, err := c.Read(); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error is %v, want one that names %s", name, err, path)
		}
	}
	if _, err := NewCPU(filepath.Join(t.TempDir(), "none"), "/sys"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("no /proc: error is %v", err)
	}
}

// TestSnapshotsClockJumps sets the machine's clock forward by an hour between two snapshots that are sent elsewhere. That hour
// is no part of what the machine did in between.
func TestSnapshotsClockJumps(t *testing.T) {
	m, err := Machine("/proc", "/sys")
	iferr.Fatal(t, err)
	if m.Virtual != record.Emulated {
		t.Skip("it sets the clock of the whole machine: .ci/test-vm runs it in the virtual machine")
	}
	cpu, err := NewCPU("/proc", "/sys")
	iferr.Fatal(t, err)
	take := func() (s Snapshot) {
		t.Helper()
		s, err := cpu.Read()
		iferr.Fatal(t, err)
		sent, err := json.Marshal(s)
		iferr.Fatal(t, err)
		s = Snapshot{}
		iferr.Fatal(t, json.Unmarshal(sent, &s))
		return s
	}
	set := func(by time.Duration) {
		now := unix.NsecToTimeval(time.Now().Round(0).Add(by).UnixNano())
		iferr.Error(t, unix.Settimeofday(&now))
	}
	from := take()
	set(time.Hour)
	defer set(-time.Hour)
	time.Sleep(10 * time.Millisecond)
	used, elapsed, err := Across([]Span{{from, take()}})
	if err != nil || elapsed <= 0 || elapsed > 1800 || used.Busy > 1800 {
		t.Errorf("in %v s the machine used %+v, %v", elapsed, used, err)
	}
}
