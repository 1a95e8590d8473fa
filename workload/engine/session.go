package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/wrap"
	"nettoll/record"
)

// grace is how long after the window a session ends by itself if it is not stopped. Each of many
// flows adds flowLimit.
//
// From restAfter after the window, which exceeds any difference between the two ends' clocks, a flow
// rests once no window depends on it (flow.done). That leaves the CPUs to the flows whose windows are
// still open because their threads have not run since.
//
// lastWait is how long after the window to wait for a flow that received nothing while it was open,
// and for a transaction that began in it. Threads on a machine with twice as many of them as CPUs
// were seen to wait 0.6 s for one; TCP retransmits after 0.2 s, and waits twice as long each time.
//
// shortSilence is how long a stream may receive nothing in turns, which do not wait for any, without being broken.
const (
	grace    = 20 * time.Second
	lastWait = 4 * time.Second

	shortSilence = time.Second
	restAfter    = 100 * time.Millisecond
)

// session is one end of one trial in one agent: the flows of a client, or those that a server
// accepts.
type session struct {
	role    role
	traffic traffic
	options record.Options
	cookie  []byte
	limit   time.Duration // for a handshake
	leave   func()        // undoes process.enter; nil after that
	flows   []*flow
	threads sync.WaitGroup // all goroutines of the session

	begin   chan struct{} // closed: the flows run
	quit    chan struct{} // closed: the session is over
	halted  atomic.Bool   // polled by the flows instead of quit
	resting atomic.Bool   // the windows should be closed
	failed  chan error    // the first failure of a flow

	turns   []turn
	inTurns bool          // the flows rest between the turns
	cold    int           // number of turns at the beginning that do not count
	drain   time.Duration // see startParams

	mu        sync.Mutex
	connected int
	fastest   int64 // ns that the fastest answer to a greeting in a datagram took; does not change any more when flows run
	started   bool
	warnings  []record.Warning

	open      atomic.Int64  // number of measured flows whose window is not closed
	closed    chan struct{} // closed: all windows are closed
	listeners []*listener   // server
	strangers atomic.Int64

	ending sync.Once
}

func newSession(r role, w traffic, p *process, params openParams) (*session, error) {
	s := &session{
		role: r, traffic: w, options: params.Options, cookie: params.Cookie, limit: params.Limit,
		begin: make(chan struct{}), quit: make(chan struct{}), closed: make(chan struct{}),
		failed: make(chan error, 1),
	}
	kinds := w.flows(params.Options)
	for _, spec := range params.Flows {
		if spec.Kind < 0 || spec.Kind >= len(kinds) {
			return nil, fmt.Errorf("%s is the %dth of %d flows of its client", spec.Label, spec.Kind, len(kinds))
		}
		f := &flow{kind: kinds[spec.Kind], label: spec.Label, cpu: spec.CPU, session: s, fd: -1, file: -1}
		s.flows = append(s.flows, f)
		if f.measures() {
			s.open.Add(1)
		}
	}
	s.share()
	var err error
	s.leave, err = p.enter(s.flows, w.meeting.managed)
	return s, err
}

// listen accepts clients at the given addresses and nowhere else: a socket that listens on all
// addresses is reachable from every network of the host.
func (s *session) listen(at []netip.AddrPort) error {
	if len(at) == 0 {
		return errors.New("no address to listen on")
	}
	for _, a := range at {
		if !a.IsValid() || a.Addr().IsUnspecified() {
			return fmt.Errorf("listen on %v: an address of this machine is needed", a)
		}
		if err := s.traffic.meeting.listen(s, a); err != nil {
			return fmt.Errorf("listen on %v: %w", a, err)
		}
	}
	return nil
}

// live runs a connected flow on its own thread, from the beginning of the traffic to its end. Flows
// that share a thread all run on that of the last one to be connected.
func (s *session) live(f *flow) {
	if f.poller != nil && !f.poller.complete() {
		return
	}
	select {
	case <-s.quit:
		return
	case <-s.begin:
	}
	if f.poller != nil {
		p := f.poller
		err := p.run()
		for _, f := range p.flows {
			if f.fd >= 0 {
				s.retire(f, err)
			}
		}
		return
	}
	if !sleepUntil(f.begins, s.quit) {
		return
	}
	err := s.unattended(f)
	if err == nil {
		err = f.run()
	}
	s.attended(f)
	s.retire(f, err)
}

// retire ends a flow that makes no more steps, because of err unless it is nil.
func (s *session) retire(f *flow, err error) {
	for f.measures() && !f.closed.Load() { // each remaining window
		f.abandon()
	}
	if f.informs != "" {
		if readErr := f.inform(); err == nil && readErr != nil {
			err = fmt.Errorf("%s: %w", f.label, readErr)
		}
	}
	if s.role == client && f.fd >= 0 {
		abort(f.fd)
	}
	f.release()
	if err != nil {
		s.fail(err)
	}
}

// unattended removes the timeouts from the connection of a flow that waits for responses, and
// leaves it to halt to wake the flow: the kernel would set and cancel its timer twice in every
// transaction, 2 % of its time on one CPU. The flow of a stream keeps its timeouts, so that one
// that stalls still closes its window.
func (s *session) unattended(f *flow) error {
	if !f.waits {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.sleeps = true
	return wrap.Error(setTimeouts(f.fd, 0), "%s", f.label)
}

// attended notes that the flow makes no more steps.
func (s *session) attended(f *flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.sleeps = false
}

// wake makes the steps of sleeping flows return.
func (s *session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.flows {
		if f.sleeps {
			_ = unix.Shutdown(f.fd, unix.SHUT_RDWR)
		}
	}
}

func (s *session) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// equip gives a flow its connection, its buffers and its step.
func (s *session) equip(f *flow, fd int) (err error) {
	f.fd = fd
	if f.noDelay {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return fmt.Errorf("%s: set TCP_NODELAY: %w", f.label, err)
		}
	}
	build := f.client
	if s.role == server {
		build = f.server
	}
	if f.step, err = build(f, s.options); err != nil {
		return fmt.Errorf("%s: %w", f.label, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected++
	return nil
}

// complete reports whether all flows are connected.
func (s *session) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected == len(s.flows)
}

// warn records warnings, each once.
func (s *session) warn(all ...record.Warning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = record.AddNew(s.warnings, all...)
}

// flowClosed counts the windows that are closed.
func (s *session) flowClosed() {
	if s.open.Add(-1) == 0 {
		close(s.closed)
	}
}

var errHaltedEarly = errors.New("halted before the window was over")

// start lets all flows run, from when the first turn begins. It returns when the last window is over
// by the clock and, where the session measures, has been closed by every flow. Flows whose window is
// still open after a further wait are ended. The result is the CPU time of each window.
func (s *session) start(ctx context.Context, turns []turn, rest bool, cold int, wait time.Duration) ([]cpuTime, error) {
	if err := s.arm(); err != nil {
		return nil, err
	}
	if err := checkTurns(turns, s.traffic.rests); err != nil {
		return nil, err
	}
	first, t1 := turns[0], turns[len(turns)-1].closes
	if late := nanotime() - first.opens; late > tolerated(first, cold) {
		return nil, errLate(late)
	}
	s.turns, s.inTurns, s.cold = turns, rest, cold
	for _, f := range s.flows {
		if rest {
			f.prepare()
		} else {
			f.schedule(first.opens-first.begins, first.opens, first.closes)
		}
	}
	over := time.Duration(t1 - nanotime())
	time.AfterFunc(over+restAfter, func() { s.resting.Store(true) })
	time.AfterFunc(over+grace+time.Duration(len(s.flows))*flowLimit, s.halt)
	used := make(chan []cpuTime, 1)
	go func() {
		used <- cpuOf(turns, s.quit)
	}()
	windows, quit := s.closed, s.quit
	if s.open.Load() == 0 {
		windows = nil
	}
	late := time.NewTimer(over + wait)
	defer late.Stop()
	close(s.begin)

	var use []cpuTime
	for done := false; !done || windows != nil; {
		select {
		case err := <-s.failed:
			return use, err
		case <-ctx.Done():
			s.halt()
			return use, context.Cause(ctx)
		case <-quit:
			return use, errHaltedEarly
		case <-late.C:
			quit = nil
			s.halt()
		case use = <-used:
			done = true
		case <-windows:
			windows = nil
		}
	}
	if quit != nil && s.halted.Load() {
		return use, errHaltedEarly
	}
	return use, nil
}

// errLate is how long after its window had opened, in nanoseconds, an end was told to start.
type errLate time.Duration

func (e errLate) Error() string {
	return fmt.Sprintf("start: %v after the window had opened", time.Duration(e))
}

// tolerated is how late a session may be told to start its first turn: by a hundredth of a window that
// counts, or by seven eighths of a cold one, which does not.
func tolerated(first turn, cold int) int64 {
	if cold > 0 {
		return (first.closes - first.opens) * 7 / 8
	}
	return (first.closes - first.opens) / 100
}

// arm checks that the session can be started, which is possible once.
func (s *session) arm() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("start: started already")
	}
	if s.connected < len(s.flows) {
		return fmt.Errorf("start: %d of %d flows are connected", s.connected, len(s.flows))
	}
	s.started = true
	return nil
}

// halt ends the session's threads soon. It does not wait for them.
func (s *session) halt() {
	s.ending.Do(func() {
		s.halted.Store(true)
		close(s.quit)
		s.wake()
		for _, l := range s.listeners {
			l.shut()
		}
	})
}

// end halts the session and returns when nothing of it is left but its figures.
func (s *session) end() {
	s.halt()
	s.threads.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leave == nil {
		return
	}
	s.leave()
	s.leave = nil
	for _, f := range s.flows { // those that did not run
		f.release()
	}
	for _, l := range s.listeners {
		unix.Close(l.fd)
	}
}

// abort makes the closing of a connection discard the data that is still queued, so that it does
// not travel during the next trial.
func abort(fd int) {
	unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 0})
}
