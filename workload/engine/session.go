package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// grace is how long flows go on after the window without being told to stop.
const grace = 5 * time.Second

// session is one end of one trial in one agent: the flows of a client, or those
// that a server accepts.
type session struct {
	role    role
	traffic traffic
	options record.Options
	process *process
	flows   []*flow
	threads sync.WaitGroup // everything that the session has going

	begin  chan struct{} // closed: the flows run
	quit   chan struct{} // closed: the session is over
	halted atomic.Bool   // what the flows look at instead of quit
	failed chan error    // the first failure of a flow

	mu        sync.Mutex
	connected int
	started   bool
	warnings  []record.Warning

	open      atomic.Int64  // measured flows whose window is not closed
	closed    chan struct{} // all windows are closed
	listener  *listener     // server
	strangers atomic.Int64

	ending sync.Once
}

func newSession(r role, w traffic, o record.Options, p *process, specs []flowSpec) *session {
	s := &session{
		role: r, traffic: w, options: o, process: p,
		begin: make(chan struct{}), quit: make(chan struct{}), closed: make(chan struct{}),
		failed: make(chan error, 1),
	}
	for _, spec := range specs {
		s.flows = append(s.flows, &flow{label: spec.Label, cpu: spec.CPU, session: s, fd: -1, file: -1})
	}
	s.open.Store(int64(len(s.flows)))
	p.enter(len(s.flows))
	return s
}

// measured reports whether the window is cut at this end.
func (s *session) measured() bool { return s.traffic.measured == s.role }

// live is the life of a connected flow on its own thread.
func (s *session) live(f *flow) {
	select {
	case <-s.quit:
		return
	case <-s.begin:
	}
	err := s.unattended(f)
	if err == nil {
		err = f.run()
	}
	s.attended(f)
	if s.role == client {
		var infoErr error
		f.info, infoErr = tcpInfo(f.fd)
		if err == nil && infoErr != nil {
			err = fmt.Errorf("%s: %w", f.label, infoErr)
		}
		abort(f.fd)
	}
	if err != nil {
		s.fail(err)
	}
}

// crowded reports whether flows share a CPU at this end.
func (s *session) crowded() bool {
	cpus := map[int]bool{}
	for _, f := range s.flows {
		if f.cpu < 0 {
			return len(s.flows) > runtime.NumCPU()
		}
		cpus[f.cpu] = true
	}
	return len(s.flows) > len(cpus)
}

// unattended takes the timeouts off the connection of a flow that exchanges
// transactions, and leaves it to halt to wake the flow: the kernel's timer would
// be set and taken back twice in every transaction, 2 % of its time on one CPU.
// The flow of a stream keeps them, so that one that stalls still closes its window.
func (s *session) unattended(f *flow) error {
	if s.traffic.counts != transactions {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.sleeps = true
	if err := setTimeouts(f.fd, 0); err != nil {
		return fmt.Errorf("%s: %w", f.label, err)
	}
	return nil
}

// attended says that the flow makes no more steps.
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
	build := s.traffic.client
	if s.role == server {
		build = s.traffic.server
	}
	if f.step, err = build(f, s.options); err != nil {
		return fmt.Errorf("%s: %w", f.label, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected++
	return nil
}

// warn keeps a doubt once.
func (s *session) warn(w record.Warning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, have := range s.warnings {
		if have == w {
			return
		}
	}
	s.warnings = append(s.warnings, w)
}

// flowClosed counts the windows that are closed.
func (s *session) flowClosed() {
	if s.open.Add(-1) == 0 {
		close(s.closed)
	}
}

// start lets all flows run and returns when the window is over, at both its own
// clock and, where it is measured, that of every flow.
func (s *session) start(ctx context.Context, warmup, duration time.Duration) (cpuTime, error) {
	if err := s.arm(); err != nil {
		return cpuTime{}, err
	}
	t0 := nanotime() + int64(warmup)
	t1 := t0 + int64(duration)
	crowded := s.crowded()
	for _, f := range s.flows {
		f.patient = f.patient && crowded
		f.schedule(int64(warmup), t0, t1, s.measured())
	}
	time.AfterFunc(warmup+duration+grace, s.halt)
	used := make(chan cpuTime, 1)
	go func() { used <- cpuBetween(t0, t1, s.quit) }()
	close(s.begin)

	over := s.closed
	if !s.measured() {
		over = nil
	}
	var use cpuTime
	for done := false; !done || over != nil; {
		select {
		case err := <-s.failed:
			return use, err
		case <-ctx.Done():
			s.halt()
			return use, context.Cause(ctx)
		case <-s.quit:
			return use, fmt.Errorf("halted while the window of %d flows was open", s.open.Load())
		case use = <-used:
			done = true
		case <-over:
			over = nil
		}
	}
	if s.measured() {
		for _, f := range s.flows {
			if err := f.verdict(warmup > 0); err != nil {
				return use, err
			}
		}
	}
	return use, nil
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

// halt ends the session's threads, soon. It does not wait for them.
func (s *session) halt() {
	s.ending.Do(func() {
		s.halted.Store(true)
		close(s.quit)
		s.wake()
		if s.listener != nil {
			s.listener.shut()
		}
	})
}

// end halts the session and returns when nothing of it is left but its figures.
func (s *session) end() {
	s.halt()
	s.threads.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	s.process.leave(len(s.flows))
	s.process = nil
	if s.listener != nil {
		unix.Close(s.listener.fd)
	}
}

// abort makes the closing of a connection discard what is still queued, so that
// it does not travel during the next trial.
func abort(fd int) {
	unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 0})
}
