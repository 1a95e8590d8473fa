package engine

import (
	"fmt"
	"math"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// never is a time that does not come.
const never = math.MaxInt64

// flow is one end of one connection. Its thread alone touches the fields below
// started, until the thread has ended or the window is closed.
type flow struct {
	label   string // names the flow in errors
	cpu     int    // to which its thread is pinned; -1 is none
	session *session
	claimed bool // server: a connection for it has come

	fd   int
	step step

	// Buffers and progress of the step.
	out, in   []byte
	flags     uintptr // of receive
	patient   bool    // a receiver that settles, see settle
	sleeps    bool    // without a timeout, under the session's lock
	file      int     // what sendfile sends; -1 is none
	offset    int64
	sent, got int // of the message in hand
	begun     int64
	latencies *latencies

	// The window. Times are those of nanotime.
	now           int64 // when the last step returned, where the flow is measured
	begins        int64 // the warm-up
	settles       int64 // half way through it
	opens, closes int64
	cutAt         int64 // the edge that comes next
	total         int64 // finished since the connection was made
	before        int64 // of these, before the window opened
	inside        int64 // of these, within the window
	closed        atomic.Bool

	info *record.TCPInfo // client: at the end

	_ [64]byte // keeps the counters of flows in different cache lines
}

// schedule sets the window. Flows that are not measured have none.
func (f *flow) schedule(warmup, t0, t1 int64, measured bool) {
	f.begins, f.settles, f.opens, f.closes, f.cutAt = t0-warmup, t0-warmup/2, t0, t1, never
	switch {
	case measured && f.patient:
		f.cutAt = f.settles
	case measured:
		f.cutAt = f.opens
	}
}

// run makes one step after the other until the session is halted.
func (f *flow) run() error {
	for !f.session.halted.Load() {
		n, errno := f.step(f)
		if errno != 0 {
			if f.session.halted.Load() {
				return nil // and woken by that
			}
			if errno != unix.EAGAIN && errno != unix.EINTR {
				return f.broken(errno)
			}
			f.now = nanotime()
		}
		if f.now >= f.cutAt {
			f.cut()
		}
		f.total += n
	}
	return nil
}

// cut is called by the first step to return at or after an edge of the window,
// before what that step brought is counted.
func (f *flow) cut() {
	if f.cutAt == f.settles && f.patient {
		f.patient = false
		f.settle()
		f.cutAt = f.opens
	}
	if f.now < f.cutAt {
		return
	}
	if f.cutAt == f.opens {
		f.before = f.total
		f.cutAt = f.closes
	}
	if f.now >= f.closes {
		f.inside = f.total - f.before
		f.cutAt = never
		f.closed.Store(true)
		f.session.flowClosed()
	}
}

// broken judges the failure of a system call. That the other end has gone is how
// a server's flow ends.
func (f *flow) broken(errno syscall.Errno) error {
	gone := errno == hungUp || errno == unix.ECONNRESET
	if gone && f.session.role == server && (f.closed.Load() || !f.session.measured()) {
		return nil
	}
	if gone {
		return fmt.Errorf("%s: the other end closed the connection", f.label)
	}
	return fmt.Errorf("%s: %w", f.label, errno)
}

// verdict is an error for a flow that has nothing to report.
func (f *flow) verdict(warmup bool) error {
	received := f.inside
	if f.latencies != nil {
		received = f.latencies.count()
	}
	switch {
	case warmup && f.before == 0:
		return fmt.Errorf("%s had received nothing when the window opened", f.label)
	case received == 0:
		return fmt.Errorf("%s received nothing in the window", f.label)
	}
	return nil
}

// release gives back what the flow holds.
func (f *flow) release() {
	for _, fd := range []*int{&f.fd, &f.file} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}
