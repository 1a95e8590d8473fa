package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// How a turn ends. The sender of a stream continues for overrun after its window: the receiver's
// window is closed by the first read after it. Data in flight then has drainTime to arrive, or longer if the network
// queues more (workload.Turns.Drain). Flows of
// transactions need only answerRest, since each has at most one transaction under way.
const (
	overrun    = 2 * time.Millisecond
	drainTime  = 3 * time.Millisecond
	streamRest = overrun + drainTime
	answerRest = 3 * time.Millisecond
)

// turn is one of several times in which a session's flows run. Its window opens when they have
// settled.
type turn struct{ begins, opens, closes int64 }

func turnsAt(begins []int64, warmup, duration time.Duration, cold int, coldFor time.Duration) []turn {
	turns := make([]turn, len(begins))
	for i, t := range begins {
		of := duration
		if i < cold {
			of = coldFor
		}
		turns[i] = turn{t, t + int64(warmup), t + int64(warmup+of)}
	}
	return turns
}

// checkTurns requires turns to be in order, with the time that flows need to come to rest between them.
func checkTurns(turns []turn, rests time.Duration) error {
	for i := range turns[1:] {
		if gap := time.Duration(turns[i+1].begins - turns[i].closes); gap < rests {
			return fmt.Errorf("start: turn %d begins %v after the window of the one before: %v is needed", i+2, gap, rests)
		}
	}
	return nil
}

// leads reports whether this end decides when there is traffic: the sender of a stream, or the
// requester. The other end sleeps by itself while nothing arrives.
func (f *flow) leads() bool {
	return f.counts == payloadBytes && !f.measures() || f.counts == transactions && f.measures()
}

// prepare sets the first turn, and allocates room for the windows of all turns: nothing can be
// allocated while flows run.
func (f *flow) prepare() {
	turns := f.session.turns
	f.past, f.left = make([]window, 0, len(turns)), make([]int, len(turns))
	if f.counted = f.latencies; f.counted != nil {
		f.cold = newLatencies()
	}
	f.take(0)
}

// take sets the i-th turn.
func (f *flow) take(i int) {
	t := f.session.turns[i]
	f.turn, f.number = i, 0
	f.schedule(t.opens-t.begins, t.opens, t.closes)
	switch {
	case f.measures():
		f.cutAt = f.begins
	case f.leads():
		f.pauses = t.closes + int64(overrun)
	}
	if f.latencies = f.counted; i < f.session.cold {
		f.latencies = f.cold
	}
}

// enter notes how much the flow had finished when its turn began.
func (f *flow) enter() {
	f.entered, f.from = true, f.total
	f.cutAt = f.opens
	if f.patient {
		f.cutAt = f.settles
	}
}

// passed stores the window that has closed, and reports whether another one follows.
func (f *flow) passed() bool {
	if !f.session.inTurns {
		return false
	}
	f.past = append(f.past, f.window)
	f.rests = f.leads()
	f.byes++
	if f.turn+1 == len(f.session.turns) {
		f.turn++
		return false
	}
	f.take(f.turn + 1)
	return true
}

// isNext reports whether the data of a step already belongs to the next turn. The first read after a
// window in which nothing arrived can bring such data.
func (f *flow) isNext() bool {
	return f.session.inTurns && f.counts == payloadBytes &&
		f.turn+1 < len(f.session.turns) && f.now >= f.session.turns[f.turn+1].begins
}

// rest makes a flow that leads sleep until its next turn, and reports whether there is one.
func (f *flow) rest() bool {
	switch {
	case f.measures():
		f.sayBye()
	default:
		for !f.drained(nanotime()) {
			time.Sleep(drainCheck)
		}
		f.advance()
	}
	f.rests = false
	if f.turn == len(f.session.turns) {
		<-f.session.quit
		return false
	}
	return sleepUntil(f.begins, f.session.quit)
}

// advance ends the turn of a sender.
func (f *flow) advance() {
	f.pauses = never
	if f.turn++; f.turn < len(f.session.turns) {
		f.take(f.turn)
	}
}

// bye is the first byte of a request that is not answered: the last of a turn. The first byte of
// any other request is not 0.
const bye = 0

// sayBye informs the end that answers that nothing more comes in this turn, and in earlier ones
// whose end has not been announced.
func (f *flow) sayBye() {
	for ; f.byes > 0; f.byes-- {
		text := make([]byte, len(f.out))
		text[0] = bye
		for len(text) > 0 && !f.session.halted.Load() {
			n, errno := send(f.fd, text)
			if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
				return // the next step will see the same error
			}
			text = text[n:]
		}
	}
}

// idles reports whether nothing is to come before the next turn: for the receiver of a stream, when
// its window has closed, and for the end that answers, when the last request has come.
func (f *flow) idles() bool {
	switch {
	case !f.session.inTurns || f.leads():
		return false
	case !f.measures():
		return f.told
	}
	return f.closed.Load() || len(f.past) > 0 && !f.entered && nanotime() < f.begins
}

// await sleeps until the next turn, once the data in flight has arrived. Go's scheduler knows about
// this sleep. A thread that sleeps in a step looks busy to the scheduler, which checks on it a
// hundred times per second.
//
// Which turn is next is determined by counting, not by the clock: this end may learn of the end of
// a turn after the next one has begun.
func (f *flow) await() {
	if f.told {
		f.told = false
		f.turn++
	}
	turns := f.session.turns
	if f.measures() && f.turn > 0 {
		if left := f.drainEnds() - nanotime(); left > 0 {
			wait := unix.NsecToTimespec(left)
			_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}, &wait, nil)
			return
		}
	}
	if f.turn >= len(turns) {
		<-f.session.quit
		return
	}
	sleepUntil(turns[f.turn].begins, f.session.quit)
}

// drainEnds returns when the time is over in which the data of the previous turn may arrive.
//
//go:nosplit
func (f *flow) drainEnds() int64 {
	return f.session.turns[f.turn-1].closes + int64(overrun+drainTime+f.session.drain)
}

// drained reports whether the peer has acknowledged everything that was sent, or the time for that
// is over. It notes how many bytes are left then, which cross in the turn of another network.
func (f *flow) drained(now int64) bool {
	// Fewer than two segments may have arrived although they are not acknowledged: the peer can delay
	// that by 40 ms.
	mss, _ := unix.GetsockoptInt(f.fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	ackedLate := max(1, 2*mss)
	left, err := unix.IoctlGetInt(f.fd, unix.SIOCOUTQ)
	if err != nil || left < ackedLate {
		return true
	}
	if now < f.pauses+int64(drainTime+f.session.drain) {
		return false
	}
	f.left[f.turn] = left
	return true
}

// errNoTurns reports that a workload cannot wait between turns.
var errNoTurns = errors.New("its flows cannot rest between turns")

// standing implements workload.Standing: between its turns its flows sleep.
type standing struct{ t *trial }

// stand makes the connections of a job, which rest.
func stand(ctx context.Context, job workload.Job) (workload.Standing, error) {
	t, err := plan(job)
	if err != nil {
		return nil, err
	}
	if t.traffic.rests == 0 {
		return nil, fmt.Errorf("%s: %w", job.Workload, errNoTurns)
	}
	if err := inOrder(ctx, t.summon, t.compare, t.serve, t.connect, t.align); err != nil {
		t.abandon(ctx)
		t.dismiss()
		return nil, err
	}
	return &standing{t}, nil
}

// Notice implements workload.Standing.
func (s *standing) Notice() time.Duration { return s.t.lead() }

// Gap implements workload.Standing.
func (s *standing) Gap() time.Duration { return s.t.traffic.rests }

// Clocks implements workload.Standing.
func (s *standing) Clocks() *workload.Clocks {
	t := s.t
	if t.clocks == nil {
		return nil
	}
	first := t.servers[0]
	c := &workload.Clocks{
		Ahead: time.Duration(first.ahead), Within: time.Duration(first.clock.took),
		Of: map[platform.Endpoint]time.Duration{}, Apart: time.Duration(t.clocks.Bound * 1e9),
	}
	if len(t.known) > 2 { // those of two that were each compared with the first
		c.Apart *= 2
	}
	for _, p := range t.parties() {
		c.Of[p.endpoint] = time.Duration(p.ahead)
	}
	return c
}

// Turns implements workload.Standing.
func (s *standing) Turns(ctx context.Context, when workload.Turns) (each []workload.Result, together workload.Result, err error) {
	t, begins := s.t, when.Begins
	t.inTurns, t.drain = true, when.Drain
	if len(begins) <= when.Cold {
		return nil, together, fmt.Errorf("%d turns are given, but the first %d do not count", len(begins), when.Cold)
	}
	if when.Ahead != nil {
		by := int64(*when.Ahead) - t.servers[0].ahead
		for _, p := range t.parties() {
			p.ahead += by
		}
	}
	now, ours := time.Now(), nanotime()
	at := record.Each(begins, func(b time.Time) int64 { return ours + int64(b.Sub(now)) })
	last := begins[len(begins)-1]
	t.span = last.Sub(begins[when.Cold]) + t.job.Warmup + t.job.Duration
	if when.Over.After(last) {
		last = when.Over
	}
	over := ours + int64(last.Sub(now))
	limit := time.Until(last) + t.job.Warmup + t.job.Duration + lastWait + t.answerLimit()
	err = t.each(ctx, t.parties(), func(ctx context.Context, p *party) error {
		return p.start(ctx, limit, startParams{
			Session: p.session, Warmup: t.job.Warmup, Duration: t.job.Duration,
			Turns: record.Each(at, p.at), Cold: when.Cold, ColdFor: when.ColdFor, Over: p.at(over), Drain: when.Drain,
		})
	})
	if err == nil {
		err = inOrder(ctx, t.steady, t.stop, t.alike)
	}
	if err != nil {
		t.abandon(ctx)
		return nil, together, err
	}
	if each, err = t.turnResults(len(begins)); err == nil {
		together, err = t.together(each, when.Cold)
	}
	return each, together, err
}

// turnResults combines the results of all parties for each turn.
func (t *trial) turnResults(turns int) (all []workload.Result, err error) {
	totals := map[*party][]int64{}
	defer func() {
		for p, of := range totals {
			p.left.Totals = of
		}
	}()
	for _, p := range t.parties() {
		totals[p] = p.left.Totals
		if len(p.window.Turns) != turns {
			return nil, fmt.Errorf("%v: reported %d windows instead of %d", p, len(p.window.Turns), turns)
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
				r.Crossed[n].Conns = 0 // connections were made before the first turn
			}
		}
		left := t.left(i)
		r.Warnings = append(r.Warnings, record.Warn(left > 0, workload.WarnOverran,
			"%d KB were still on their way %v after a turn had ended", (left+999)/1000, t.traffic.rests+t.drain)...)
		all = append(all, r)
	}
	return all, nil
}

// finishedIn returns how much each flow finished from the beginning of a turn until the beginning
// of the next: the first turn includes everything before it, and the last one everything after it.
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

// together returns the result of the windows of all turns except the first cold ones.
func (t *trial) together(each []workload.Result, cold int) (r workload.Result, err error) {
	n := len(each) - cold
	for _, p := range t.parties() {
		p.window.windowResult, p.window.CPU = windowResult{Latencies: p.window.Counted}, cpuTime{}
		for i, turn := range p.window.Turns[cold:] {
			p.window.add(turn, i == 0)
		}
	}
	t.muteInTurns(cold)
	of := *t
	of.job.Duration *= time.Duration(n)
	if r, err = of.result(); err != nil {
		return r, err
	}
	if len(r.Metrics) == 0 {
		return r, fmt.Errorf("%s: no transaction was answered in %d windows of %v", t.traffic.name, n, t.job.Duration)
	}
	for _, one := range each[cold:] {
		for _, w := range one.Warnings {
			if w.Code == workload.WarnOverran && !slices.Contains(r.Warnings, w) {
				r.Warnings = append(r.Warnings, w)
			}
		}
	}
	return r, nil
}

// muteInTurns notes the streams that received nothing since the first turn that counts. A turn does not wait for any of them, as a
// whole window does. Where all turns were over sooner than a thread can wait for a CPU, and a segment for its retransmission, they
// count with nothing.
func (t *trial) muteInTurns(cold int) {
	if t.span < shortSilence {
		return
	}
	for _, f := range t.flows {
		k := t.kinds[f.kind]
		if k.counts != payloadBytes {
			continue
		}
		p, at := f.end(k.measured)
		w := &p.window
		if from := w.Turns[cold].From; at < len(from) && at < len(p.left.Totals) && p.left.Totals[at] == from[at] && !slices.Contains(w.Mute, at) {
			w.Mute = append(w.Mute, at)
			t.silence = fmt.Sprintf("in all of its turns, which took %v", t.span.Round(10*time.Millisecond))
		}
	}
}

// add adds the window of another turn, which may be the first of several. A flow is mute if it is
// mute in all of them.
func (r *startResult) add(o startResult, first bool) {
	addTo(&r.Units, o.Units)
	addTo(&r.Bytes, o.Bytes)
	addTo(&r.Ended, o.Ended)
	if first {
		r.Mute = slices.Clone(o.Mute)
	}
	r.Mute = slices.DeleteFunc(r.Mute, func(n int) bool { return !slices.Contains(o.Mute, n) })
	r.Covered += o.Covered
	r.Unfinished += o.Unfinished
	r.Cold, r.Silent = max(r.Cold, o.Cold), max(r.Silent, o.Silent)
	r.CPU.User += o.CPU.User
	r.CPU.System += o.CPU.System
}

// left returns how many bytes were still on their way when the next turn could begin.
func (t *trial) left(turn int) (sum int) {
	for _, p := range t.parties() {
		if turn < len(p.left.Left) {
			sum += p.left.Left[turn]
		}
	}
	return sum
}

// Close implements workload.Standing.
func (s *standing) Close() {
	s.t.abandon(context.Background())
	s.t.dismiss()
}
