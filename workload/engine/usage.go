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
// late by a scheduling delay, so the CPU time between the two readings is scaled to the window, unless they are
// less than half of it apart: that says too little about the rest. It gives up when quit is closed.
func cpuBetween(t0, t1 int64, quit <-chan struct{}) cpuTime {
	if !sleepUntil(t0, quit) {
		return cpuTime{}
	}
	from, begun := processCPUNow()
	if !sleepUntil(t1, quit) {
		return cpuTime{}
	}
	to, ended := processCPUNow()
	scale := 1.0
	if seen := ended - begun; seen >= (t1-t0)/2 {
		scale = float64(t1-t0) / float64(seen)
	}
	return cpuTime{User: (to.User - from.User) * scale, System: (to.System - from.System) * scale}
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
