package engine

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// poller is a thread that serves all streams of a session that are pinned to one CPU: it waits for
// all of their connections at once, and makes one step for each flow that is ready before it waits
// again.
//
// With a thread for each, every sender would write until it is blocked, and a receiver would be
// woken and switched to for what arrives meanwhile. BBR sends by timers whatever does not follow
// closely on the data before it, and then carries half as much. The same happens if a poller makes
// several steps for one flow before it turns to the next.
type poller struct {
	session *session
	flows   []*flow // their sockets do not block
	polled  []unix.PollFd
	ready   int // number of flows that are connected; guarded by the session's lock
}

// drainCheck is how often a sender checks whether what it sent has been acknowledged.
const drainCheck = 100 * time.Microsecond

// share gives a poller to streams that are pinned to one CPU. A flow that is alone there, or that
// is not pinned, keeps a thread of its own, and so does one that sleeps until a message is due.
func (s *session) share() {
	on := map[int][]*flow{}
	for _, f := range s.flows {
		if paced := !f.measures() && s.options.Bandwidth > 0; f.stream && !paced && f.cpu >= 0 {
			on[f.cpu] = append(on[f.cpu], f)
		}
	}
	for _, flows := range on {
		if len(flows) == 1 {
			continue
		}
		p := &poller{session: s, flows: flows, polled: make([]unix.PollFd, len(flows))}
		for _, f := range flows {
			f.poller = p
		}
	}
}

// complete notes that one more flow is connected, and reports whether that was the last: its thread
// then serves them all, and those of the others end.
func (p *poller) complete() bool {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	p.ready++
	return p.ready == len(p.flows)
}

// run serves the flows until the session is halted. A flow that fails leaves the others running.
func (p *poller) run() error {
	for i, f := range p.flows {
		if err := unix.SetNonblock(f.fd, true); err != nil {
			return fmt.Errorf("%s: make its socket non-blocking: %w", f.label, err)
		}
		f.asked = nanotime()
		p.polled[i].Events = unix.POLLOUT
		if f.measures() {
			p.polled[i].Events = unix.POLLIN
		}
	}
	s := p.session
	for !s.halted.Load() {
		resting := s.resting.Load()
		now := nanotime()
		active, again := p.choose(now)
		if active == 0 {
			if !sleepUntil(again, s.quit) {
				break
			}
			continue
		}
		if errno := poll(p.polled, min(again-now, int64(pollInterval))); errno != 0 && errno != unix.EINTR {
			return fmt.Errorf("poll %d connections: %w", active, errno)
		}
		now = nanotime()
		for i, f := range p.flows {
			if p.polled[i].Fd < 0 || p.polled[i].Revents == 0 && now-f.asked < int64(pollInterval) {
				continue
			}
			n, errno := int64(0), syscall.Errno(unix.EAGAIN) // nothing for as long as a blocking step waits
			if p.polled[i].Revents != 0 {
				if n, errno = f.step(f); errno == unix.EAGAIN {
					continue
				}
			}
			f.asked = now
			if over, err := f.stepped(n, errno, resting); over {
				s.retire(f, err)
			}
		}
	}
	return nil
}

// choose selects the flows to be polled, and returns their number and when to choose again even if
// nothing is ready.
//
//go:nosplit
func (p *poller) choose(now int64) (active int, again int64) {
	again = never
	for i, f := range p.flows {
		polled, until := f.polls(now)
		again = min(again, until)
		p.polled[i].Fd, p.polled[i].Revents = -1, 0
		if polled {
			p.polled[i].Fd = int32(f.fd)
			active++
		} else {
			f.asked = max(now, until) // it does not wait for the network before that
		}
	}
	return active, again
}

// polls reports whether the flow has something to do at the time now, and when that changes even if
// its connection does not become ready. A flow that is retired has nothing to do any more.
//
//go:nosplit
func (f *flow) polls(now int64) (polled bool, until int64) {
	switch s := f.session; {
	case f.fd < 0 || s.resting.Load() && f.done():
		return false, never
	case now >= f.pauses:
		if !f.drained(now) {
			return false, now + int64(drainCheck)
		}
		f.advance()
	}
	turns := f.session.turns
	next := f.begins
	if f.session.inTurns && f.turn == len(turns) {
		next = never
	}
	if now >= next {
		return true, never
	}
	if f.measures() && f.turn > 0 && now < f.drainEnds() {
		return true, f.drainEnds()
	}
	return false, next
}
