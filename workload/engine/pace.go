package engine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pace is a schedule of events that are due at equal intervals. It is absolute: a late event does
// not delay the ones after it.
type pace struct {
	begins int64   // when the first is due
	every  float64 // ns
}

// due returns when the n-th event is due, counting from 0.
//
//go:nosplit
func (p *pace) due(n int64) int64 { return p.begins + int64(float64(n)*p.every) }

// by returns how many events have been due at t.
//
//go:nosplit
func (p *pace) by(t int64) int64 {
	if t < p.begins {
		return 0
	}
	return int64(float64(t-p.begins)/p.every) + 1
}

// sleepTo lets the thread sleep until t of nanotime, but for no longer than pollInterval, or until a signal comes. Go's
// scheduler does not know that it sleeps.
//
//go:nosplit
func sleepTo(t int64) {
	now := nanotime()
	if t <= now {
		return
	}
	ts := unix.NsecToTimespec(min(t, now+int64(pollInterval)))
	syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}
