package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is CPU time of one process in the window, in seconds.
type cpuTime struct {
	User   float64 `json:"user_s"`
	System float64 `json:"system_s"`
}

// cpuBetween returns the CPU time of this process from t0 to t1, both of nanotime. The timer can be
// late by a scheduling delay, so the CPU time between the two readings is scaled to the window. If they are
// less than half of it apart, that says too little about the rest: it is what was seen, and not known. Nor is it if quit is closed.
func cpuBetween(t0, t1 int64, quit <-chan struct{}) (used cpuTime, known bool) {
	if !sleepUntil(t0, quit) {
		return used, false
	}
	from, begun := processCPUNow()
	if !sleepUntil(t1, quit) {
		return used, false
	}
	to, ended := processCPUNow()
	used = cpuTime{to.User - from.User, to.System - from.System}
	if ended-begun < (t1-t0)/2 {
		return used, false
	}
	return used.scaled(float64(t1-t0) / float64(ended-begun)), true
}

func (c cpuTime) scaled(by float64) cpuTime { return cpuTime{c.User * by, c.System * by} }

// cpuOf returns the CPU time of this process in each turn. A turn of which it is not known has that of the others, by its length.
func cpuOf(turns []turn, quit <-chan struct{}) []cpuTime {
	all, known := make([]cpuTime, len(turns)), make([]bool, len(turns))
	var sum cpuTime
	var long int64
	for i, t := range turns {
		if all[i], known[i] = cpuBetween(t.opens, t.closes, quit); known[i] {
			sum.User, sum.System, long = sum.User+all[i].User, sum.System+all[i].System, long+t.closes-t.opens
		}
	}
	for i, t := range turns {
		if !known[i] && long > 0 {
			all[i] = sum.scaled(float64(t.closes-t.opens) / float64(long))
		}
	}
	return all
}

// processCPUNow returns the CPU time and when it was read. It reads again if the thread had to wait for a CPU meanwhile: over a
// window that seems too short, the CPU time would be scaled up.
func processCPUNow() (used cpuTime, at int64) {
	const tries = 5
	for range tries {
		began := nanotime()
		used = processCPU()
		if at = nanotime(); at-began < int64(time.Millisecond) {
			break
		}
	}
	return used, at
}

func processCPU() cpuTime {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u) // cannot fail: both arguments are valid
	return cpuTime{
		User:   time.Duration(u.Utime.Nano()).Seconds(),
		System: time.Duration(u.Stime.Nano()).Seconds(),
	}
}

// sleepUntil reports whether t came before quit was closed.
func sleepUntil(t int64, quit <-chan struct{}) bool {
	timer := time.NewTimer(time.Duration(t - nanotime()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-quit:
		return false
	}
}
