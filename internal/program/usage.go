package program

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/keeper"
)

// usage is CPU time in seconds.
type usage struct {
	user, system float64
	reaped       uint64 // grows with each descendant that its parent has reaped
}

func (u usage) total() float64 { return u.user + u.system }

// ticks is the kernel's USER_HZ, which is 100 on every architecture Go runs on.
const ticks = 100

// used is the CPU time of the program and of all that descends from it, so far. The
// clock of each process is exact; how it is split into user and system is sampled
// by ticks. Children that have ended count through the parent that reaped them, in whole
// ticks: unseen is what that leaves out.
func (k *child) used() usage {
	const tries = 5
	for try := 1; ; try++ {
		select {
		case <-k.done:
			return k.last
		default:
		}
		family := k.family()
		sum, alive := k.sum(family)
		if !alive { // it has ended meanwhile; WaitDelay bounds how long until that is known
			<-k.done
			return k.last
		}
		// A child that was reaped after its parent was read counts nowhere.
		if slices.Equal(family, k.family()) || try == tries {
			return sum
		}
	}
}

// sum is the CPU time of processes, and whether the program itself is among them.
func (k *child) sum(family []int) (sum usage, alive bool) {
	for _, pid := range family {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // ended meanwhile
		}
		p, ok := parseStat(string(b))
		if !ok {
			continue
		}
		exact, there := clock(p.pid)
		alive = alive || p.pid == k.cmd.Process.Pid && there && !p.ended
		if sampled := p.user + p.system; exact > 0 && sampled > 0 {
			p.user, p.system = exact*p.user/sampled, exact*p.system/sampled
		} else if exact > 0 {
			p.system = exact
		}
		sum.user += p.user + p.reapedUser
		sum.system += p.system + p.reapedSystem
		sum.reaped += p.reapedFaults
	}
	return sum, alive
}

// unseen is the CPU time in seconds that a reading leaves out, of what was used since an
// earlier one: where a child was reaped in between, less than a tick in user and less than
// a tick in system mode. Its whole life, which is known exactly, bounds it too.
func unseen(from, to, life usage) float64 {
	if from.reaped == to.reaped {
		return 0
	}
	return min(max(0, life.total()-to.total()), 2./ticks)
}

func (k *child) over() <-chan struct{} { return k.done }

// family is the program and all that descends from it.
func (k *child) family() []int { return keeper.Family(k.cmd.Process.Pid) }

// stat is what proc_pid_stat(5) says of a process. Times are in seconds.
type stat struct {
	pid                      int
	ended                    bool // and not reaped yet
	user, system             float64
	reapedUser, reapedSystem float64
	reapedFaults             uint64 // minor page faults: every process has some
}

func parseStat(text string) (s stat, ok bool) {
	// The name in parentheses may hold anything.
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return s, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	f := strings.Fields(text[end+1:])
	if err != nil || len(f) < 15 {
		return s, false
	}
	s.pid = pid
	s.ended = f[0] == "Z" || f[0] == "X"
	if s.reapedFaults, err = strconv.ParseUint(f[8], 10, 64); err != nil {
		return s, false
	}
	for i, v := range []*float64{&s.user, &s.system, &s.reapedUser, &s.reapedSystem} {
		n, err := strconv.ParseUint(f[11+i], 10, 63)
		if err != nil {
			return s, false
		}
		*v = float64(n) / ticks
	}
	return s, true
}

// clock is the CPU time of a process in seconds, by its CPU-time clock: the clock
// of process pid is ^pid<<3|2, as clock_getcpuclockid(3) makes it.
// A process that is gone has none.
func clock(pid int) (seconds float64, there bool) {
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|2), &ts) != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()).Seconds(), true
}
