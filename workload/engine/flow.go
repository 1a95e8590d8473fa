package engine

import (
	"fmt"
	"math"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// never is a time that is never reached.
const never = math.MaxInt64

// flow is one end of one connection, or of a pair of UDP sockets. The fields below claimed are
// touched only by its thread, until the thread has ended or the window is closed.
type flow struct {
	kind
	label   string       // names the flow in errors
	cpu     int          // the CPU its thread is pinned to; -1 is none
	thread  atomic.Int32 // its number, once it has one of its own
	session *session
	claimed bool // server: a connection for it has come

	listener *listener // server: the one that accepted it
	poller   *poller   // serves it with others; nil: it has its own thread
	asked    int64     // since when its poller has waited for it

	fd    int
	step  step
	doing string // the operation in progress, where a step makes several
	cause error  // of a failure that is not a system call's

	// Buffers and progress of the step.
	out, in   []byte
	flags     uintptr // of receive
	patient   bool    // a receiver that settles, see settle
	lowat     int     // bytes for which a receiver that has settled is woken
	remainder bool    // the last read returned less than lowat: the data had waited for pollInterval
	trickles  bool    // and so did the one before
	sleeps    bool    // without a timeout; guarded by the session's lock
	file      int     // the file that sendfile sends; -1 is none
	offset    int64
	sent, got int   // bytes of the message in progress
	number    int64 // of the transaction in progress, where transactions are numbered; bytes of a stream with a given rate
	begun     int64
	recorded  int64 // when the last transaction began that counts
	spin      int64 // ns before an answer, see Spinning
	latencies *latencies
	connects  *latencies // of making connections
	unloaded  *latencies // before the load
	conns     int64      // connections made for payload in addition to the flow's own
	pace      pace
	write     step   // of a stream with a given rate
	brief     *brief // tcp_crr
	train     *train // sends datagrams
	batch     *batch // receives datagrams
	tally     *tally // counts datagrams

	// Times are readings of nanotime.
	now     int64 // when the last step returned, where the flow is measured
	settles int64 // half way between begins and the opening of the window
	total   int64 // finished since the connection was made
	window
	past    []window    // windows of turns that are over, see turns.go
	cold    *latencies  // latencies of turns that do not count
	counted *latencies  // latencies of turns that count
	turn    int         // the turn in progress, or the next one
	pauses  int64       // when a flow that leads and has no window rests
	rests   bool        // a flow that leads is to sleep until its next turn
	told    bool        // a flow that answers knows that nothing more comes in this turn
	byes    int         // turns whose end has not been announced to the other end
	left    []int       // bytes that were still on their way after each turn
	closed  atomic.Bool // the last window is closed

	info    *record.TCPInfo // at the end, where kind.informs names this end
	control string          // TCP congestion control of this end, where the connection lasts

	_ [64]byte // keeps the counters of flows in different cache lines
}

// measures reports whether the flow is measured at this end.
//
//go:nosplit
func (f *flow) measures() bool { return f.measured == f.session.role }

// schedule sets the window. Ends that do not measure have none.
func (f *flow) schedule(warmup, t0, t1 int64) {
	begins := t0 - warmup
	if f.late {
		begins = t0 - warmup/2
	}
	f.settles = t0 - (t0-begins)/2
	f.window = window{begins: begins, opens: t0, closes: t1, cutAt: never, brought: begins}
	f.pauses = never
	switch {
	case f.measures() && f.patient:
		f.cutAt = f.settles
	case f.measures():
		f.cutAt = f.opens
	}
}

// run makes steps until the session is halted. A flow that shares a thread is run by its poller.
func (f *flow) run() error {
	for !f.session.halted.Load() {
		resting := f.session.resting.Load()
		if resting && f.done() {
			<-f.session.quit
			return nil
		}
		switch {
		case f.rests || f.pauses != never && nanotime() >= f.pauses:
			if !f.rest() {
				return nil
			}
		case f.idles():
			f.await()
		}
		n, errno := f.step(f)
		if over, err := f.stepped(n, errno, resting); over {
			return err
		}
	}
	return nil
}

// stepped judges the outcome of a step. If the flow makes no more steps, it is over.
//
//go:nosplit
func (f *flow) stepped(n int64, errno syscall.Errno, resting bool) (over bool, err error) {
	if errno != 0 {
		if f.session.halted.Load() {
			return true, nil // it was woken by the halt
		}
		// A router has told that its MTU is smaller: the kernel cuts further datagrams itself, but not those of a train.
		shrunk := errno == unix.EMSGSIZE && !f.session.options.GSO
		if errno != unix.EAGAIN && errno != unix.EINTR && !shrunk {
			return true, f.broken(errno)
		}
		f.now = nanotime()
	}
	f.account(n)
	if n > 0 {
		f.rested = resting
	}
	return false, nil
}

// account counts the result of a step that returned at f.now.
//
//go:nosplit
func (f *flow) account(n int64) {
	if f.now >= f.cutAt {
		f.cut(n)
	}
	f.total += n
	if n == 0 {
		return
	}
	f.brought = f.now
	if f.remainder && !f.trickles {
		f.stale += n
	}
	f.trickles = f.remainder
}

// done reports whether no window depends on further work of the flow, once all windows should be
// closed. A sender must have sent something since then: its thread may not have had a CPU before.
//
//go:nosplit
func (f *flow) done() bool {
	return f.closed.Load() || f.counts == payloadBytes && !f.measures() && f.rested
}

// otherEndClosed is the error of a flow whose connection was closed or reset.
const otherEndClosed = "the other end closed the connection"

// broken judges the failure of a step. A server's flow ends normally when the other end has gone.
func (f *flow) broken(errno syscall.Errno) error {
	gone := errno == hungUp || errno == unix.ECONNRESET || errno == unix.ECONNREFUSED
	switch {
	case gone && f.session.role == server && (f.closed.Load() || !f.measures()):
		return nil
	case f.cause != nil:
		return fmt.Errorf("%s: %w", f.label, f.cause)
	case gone && f.doing == "":
		return fmt.Errorf("%s: %s", f.label, otherEndClosed)
	case f.doing != "":
		return fmt.Errorf("%s: %s: %w", f.label, f.doing, errno)
	}
	return fmt.Errorf("%s: %w", f.label, errno)
}

// inform reads the kernel's information about the connection.
func (f *flow) inform() (err error) {
	if f.informs == f.session.role {
		if f.info, err = tcpInfo(f.fd); err == nil {
			f.control = f.info.Congestion
		}
		return err
	}
	f.control, err = congestionOf(f.fd)
	return err
}

// release closes the file descriptors that the flow holds.
func (f *flow) release() {
	descriptors := []*int{&f.fd, &f.file}
	if f.brief != nil {
		descriptors = append(descriptors, &f.brief.fd, &f.brief.next)
	}
	for _, fd := range descriptors {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}
