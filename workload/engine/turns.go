package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/record"
	"nettoll/workload"
)

// How a turn ends. A sender goes on for overrun after its window: the receiver's is closed by
// the first read behind it. What is on its way then has drainTime to arrive.
const (
	overrun   = 2 * time.Millisecond
	drainTime = 5 * time.Millisecond
)

// TurnGap is how long after the window of a turn the flows have come to rest. Whoever takes
// turns with them begins no sooner.
const TurnGap = overrun + drainTime

// turn is one of several times in which a session's flows run. Its window opens when they have
// settled.
type turn struct{ begins, opens, closes int64 }

func turnsAt(begins []int64, warmup, duration time.Duration) []turn {
	all := make([]turn, len(begins))
	for i, t := range begins {
		all[i] = turn{t, t + int64(warmup), t + int64(warmup+duration)}
	}
	return all
}

// checkTurns wants turns in order, with time to come to rest between them.
func checkTurns(turns []turn) error {
	for i := range turns[1:] {
		if gap := time.Duration(turns[i+1].begins - turns[i].closes); gap < TurnGap {
			return fmt.Errorf("start: turn %d begins %v after the window of the one before: %v is needed", i+2, gap, TurnGap)
		}
	}
	return nil
}

// leads reports whether this end says when there is traffic: that which sends a stream, or
// which asks. The other end sleeps by itself while nothing comes.
func (f *flow) leads() bool {
	return f.counts == payloadBytes && !f.measures() || f.counts == transactions && f.measures()
}

// prepare sets the first turn, and holds room for what the windows of all will have: none can
// be made while flows run.
func (f *flow) prepare() {
	turns := f.session.turns
	f.past, f.left = make([]window, 0, len(turns)), make([]int, len(turns))
	for len(f.ofTurns) < len(turns) && f.latencies != nil {
		f.ofTurns = append(f.ofTurns, newLatencies())
	}
	f.take(0)
}

// take sets a turn.
func (f *flow) take(i int) {
	t := f.session.turns[i]
	f.turn = i
	f.schedule(t.opens-t.begins, t.opens, t.closes)
	switch {
	case f.measures():
		f.cutAt = f.begins
	case f.leads():
		f.pauses = t.closes + int64(overrun)
	}
	if f.latencies != nil {
		f.latencies = f.ofTurns[i]
	}
}

// enter notes what the flow had finished when its turn began.
func (f *flow) enter() {
	f.entered, f.from = true, f.total
	f.cutAt = f.opens
	if f.patient {
		f.cutAt = f.settles
	}
}

// passed puts the window that has closed aside, and reports whether another one follows.
func (f *flow) passed() bool {
	if !f.session.inTurns {
		return false
	}
	f.past = append(f.past, f.window)
	f.rests = f.leads()
	if f.turn+1 == len(f.session.turns) {
		f.turn++
		return false
	}
	f.take(f.turn + 1)
	return true
}

// isNext reports whether what a step has brought belongs to the next turn already, as the
// first read does after a window in which nothing came.
func (f *flow) isNext() bool {
	return f.session.inTurns && f.counts == payloadBytes &&
		f.turn+1 < len(f.session.turns) && f.now >= f.session.turns[f.turn+1].begins
}

// held is the window of a turn that is over, with its latencies.
func (f *flow) held(turn int) (*window, *latencies) {
	if f.latencies == nil {
		return &f.past[turn], nil
	}
	return &f.past[turn], f.ofTurns[turn]
}

// rest has a flow that leads sleep until its next turn, and reports whether there is one.
func (f *flow) rest() bool {
	switch {
	case f.measures():
		f.sayBye()
	default:
		f.drain()
		f.pauses = never
		if f.turn++; f.turn < len(f.session.turns) {
			f.take(f.turn)
		}
	}
	f.rests = false
	if f.turn == len(f.session.turns) {
		<-f.session.quit
		return false
	}
	return sleepUntil(f.begins, f.session.quit)
}

// bye is the first byte of a request that nobody answers: the last of a turn. That of any other
// is not 0.
const bye = 0

// sayBye lets the end that answers know that there is nothing more in this turn.
func (f *flow) sayBye() {
	text := make([]byte, len(f.out))
	text[0] = bye
	for len(text) > 0 && !f.session.halted.Load() {
		n, errno := send(f.fd, text)
		if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
			return // as the next step will find
		}
		text = text[n:]
	}
}

// idles reports whether nothing is to come before the next turn: at the end of a stream that
// receives, when its window has closed, and where requests are answered, when the last has come.
func (f *flow) idles() bool {
	switch {
	case !f.session.inTurns || f.leads():
		return false
	case !f.measures():
		return f.told
	}
	return f.closed.Load() || len(f.past) > 0 && !f.entered && nanotime() < f.begins
}

// await sleeps until the next turn, when what was on its way has come. Go's scheduler knows of
// it, unlike of a step that waits: that takes it for busy, and looks after it a hundred times
// a second.
func (f *flow) await() {
	f.told = false
	now, turns := nanotime(), f.session.turns
	next := slices.IndexFunc(turns, func(t turn) bool { return t.begins > now })
	if next < 0 {
		next = len(turns)
	}
	if left := time.Duration(turns[max(0, next-1)].closes-now) + TurnGap; left > 0 && f.measures() {
		wait := unix.NsecToTimespec(int64(left))
		_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}, &wait, nil)
		return
	}
	if next == len(turns) {
		<-f.session.quit
		return
	}
	sleepUntil(turns[next].begins, f.session.quit)
}

// drain waits until the peer has acknowledged all that was sent, and notes what is left when
// the time for that is over: it crosses the network in somebody else's turn.
func (f *flow) drain() {
	for over := f.pauses + int64(drainTime); ; time.Sleep(100 * time.Microsecond) {
		left, err := unix.IoctlGetInt(f.fd, unix.SIOCOUTQ)
		if err != nil || left == 0 {
			return
		}
		if nanotime() >= over {
			f.left[f.turn] = left
			return
		}
	}
}

// errNoTurns says that a workload cannot wait between turns.
var errNoTurns = errors.New("its flows cannot rest between turns")

// Standing is a job whose connections are made and whose flows sleep.
type Standing struct{ t *trial }

// Stand makes the connections of a job. The caller closes what it returns.
func (Tool) Stand(ctx context.Context, job workload.Job) (*Standing, error) {
	t, err := plan(job)
	if err != nil {
		return nil, err
	}
	if !t.traffic.turns {
		return nil, fmt.Errorf("%s: %w", job.Workload, errNoTurns)
	}
	for _, phase := range []func(context.Context) error{t.summon, t.serve, t.connect, t.align} {
		if err := phase(ctx); err != nil {
			t.abandon(ctx)
			t.dismiss()
			return nil, err
		}
	}
	return &Standing{t}, nil
}

// Notice is how long before the first turn the flows must be told of it.
func (s *Standing) Notice() time.Duration { return s.t.lead() }

// Turns has the flows run when turns begin, each for the warm-up and the duration of the job,
// and gives what each window held; what has crossed is that of the turn as a whole, with what
// came before it. It is called once.
func (s *Standing) Turns(ctx context.Context, begins []time.Time) ([]workload.Result, error) {
	t := s.t
	t.inTurns = true
	if len(begins) == 0 {
		return nil, errors.New("no turn is given")
	}
	now, ours := time.Now(), nanotime()
	var at []int64
	for _, b := range begins {
		at = append(at, ours+int64(b.Sub(now)))
	}
	limit := time.Until(begins[len(begins)-1]) + t.job.Warmup + t.job.Duration + lastWait + t.answerLimit()
	err := t.each(ctx, t.parties(), func(ctx context.Context, p *party) error {
		start := startParams{Session: p.session, Warmup: t.job.Warmup, Duration: t.job.Duration}
		for _, b := range at {
			start.Turns = append(start.Turns, p.clock.at(b))
		}
		return p.call(ctx, limit, methodStart, start, &p.window)
	})
	if err == nil {
		err = t.stop(ctx)
	}
	if err != nil {
		t.abandon(ctx)
		return nil, err
	}
	return t.turnResults(len(begins))
}

// turnResults puts together what all parties say of each turn.
func (t *trial) turnResults(turns int) (all []workload.Result, err error) {
	totals := map[*party][]int64{}
	for _, p := range t.parties() {
		totals[p] = p.left.Totals
		if len(p.window.Turns) != turns {
			return nil, fmt.Errorf("%v: says what %d windows held, and there were %d", p, len(p.window.Turns), turns)
		}
	}
	for i := range turns {
		for _, p := range t.parties() {
			p.window.windowResult, p.window.CPU = p.window.Turns[i].windowResult, p.window.Turns[i].CPU
			p.left.Totals = p.finishedIn(i, totals[p])
		}
		r, err := t.result()
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		for n := range r.Crossed {
			if i > 0 {
				r.Crossed[n].Conns = 0 // they were made before the first turn
			}
		}
		if left := t.left(i); left > 0 {
			r.Warnings = append(r.Warnings, record.Warning{
				Code: "overran", Text: fmt.Sprintf("%d bytes were still on their way %v after the window", left, TurnGap),
			})
		}
		all = append(all, r)
	}
	return all, nil
}

// finishedIn is what each flow finished from when a turn began until the next one did: of the
// first also what was before, and of the last all that is left.
func (p *party) finishedIn(turn int, totals []int64) []int64 {
	all := slices.Clone(totals)
	for i := range all {
		if turn+1 < len(p.window.Turns) && i < len(p.window.Turns[turn+1].From) {
			all[i] = p.window.Turns[turn+1].From[i]
		}
		if turn > 0 && i < len(p.window.Turns[turn].From) {
			all[i] -= p.window.Turns[turn].From[i]
		}
	}
	return all
}

// left is how many bytes were still on their way when somebody else's turn could begin.
func (t *trial) left(turn int) (sum int) {
	for _, p := range t.parties() {
		if turn < len(p.left.Left) {
			sum += p.left.Left[turn]
		}
	}
	return sum
}

// Close ends what stands.
func (s *Standing) Close() {
	s.t.abandon(context.Background())
	s.t.dismiss()
}
