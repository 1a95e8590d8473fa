package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"
	_ "unsafe" // for go:linkname

	"nettoll/record"
)

// nanotime is CLOCK_MONOTONIC in nanoseconds, read without entering the kernel.
// time.Since reads the same clock, but is a point at which the scheduler can preempt the thread.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

func readClock(context.Context, struct{}) (clockResult, error) {
	return clockResult{Now: nanotime()}, nil
}

// offset is how far an agent's clock is ahead of ours, in nanoseconds. As in NTP it is taken from
// the question that was answered fastest, and its error is at most half of the time that the answer
// took.
type offset struct {
	ahead   int64
	took    int64 // of the fastest answer, ns
	slowest int64
	learned int64 // when the clock was first asked for
}

// questions is how often each agent is asked for its clock.
const questions = 5

// learn records one answer.
func (o *offset) learn(asked, theirs, answered int64) {
	took := answered - asked
	o.learned = cmp.Or(o.learned, asked)
	o.slowest = max(o.slowest, took)
	if o.took != 0 && took >= o.took {
		return
	}
	o.took = took
	o.ahead = theirs - asked - took/2
}

// snap takes an offset of at most its greatest error to be zero: agents on this machine read the same clock. If this one
// is another, the error is at most the whole time that the answer took.
func (o *offset) snap() {
	if max(o.ahead, -o.ahead) <= o.took-o.took/2 {
		o.ahead = 0
	}
}

// at returns the reading of the party's clock when ours shows t.
func (p *party) at(t int64) int64 { return t + p.ahead }

// slewing bounds the rate at which two clocks can drift apart that are both adjusted to run faster
// or slower: Linux does so by at most 500 ppm each (MAXFREQ in linux/timex.h).
const slewing = 2 * 500e-6

// jumped returns by how much the clock has jumped since the earlier measurement, or 0 if the errors
// of both offsets and the adjustment of clocks can explain the difference.
func (o *offset) jumped(before offset) time.Duration {
	apart := o.ahead - before.ahead
	most := o.took + before.took + int64(slewing*float64(o.learned-before.learned))
	if max(apart, -apart) <= most {
		return 0
	}
	return time.Duration(apart)
}

// align compares the clocks of all agents with ours, all at once, because the agents are also
// called at once when they are to start.
func (t *trial) align(ctx context.Context) error {
	err := t.each(ctx, t.parties(), func(ctx context.Context, p *party) (err error) {
		p.clock, err = t.clockOf(ctx, p)
		p.ahead = p.clock.ahead
		return err
	})
	if err == nil {
		err = t.agree()
	}
	return err
}

// clockOf asks an agent for its clock.
func (t *trial) clockOf(ctx context.Context, p *party) (o offset, err error) {
	for range questions {
		var theirs clockResult
		asked := nanotime()
		if err := p.call(ctx, t.answerLimit(), methodClock, struct{}{}, &theirs); err != nil {
			return o, err
		}
		o.learn(asked, theirs.Now, nanotime())
	}
	o.snap()
	return o, nil
}

// steady checks that no agent's clock has jumped since align, as that of a virtual machine does when
// the machine is paused: the windows of the two ends would not have been at the same time.
func (t *trial) steady(ctx context.Context) error {
	return t.each(ctx, t.parties(), func(ctx context.Context, p *party) error {
		now, err := t.clockOf(ctx, p)
		if err != nil {
			return err
		}
		if by := now.jumped(p.clock); by != 0 {
			return fmt.Errorf("its clock has jumped by %v during the trial", by.Round(100*time.Microsecond))
		}
		return nil
	})
}

// The agents are notified at least leastNotice before the window opens and leastLead before the
// traffic begins, and earlier if one was slow to report its clock.
const (
	leastNotice = 20 * time.Millisecond
	leastLead   = 2 * time.Millisecond
)

func (t *trial) lead() time.Duration {
	slowest := record.Most(t.parties(), func(p *party) int64 { return p.clock.slowest })
	return max(leastLead, leastNotice-t.job.Warmup) + 4*time.Duration(slowest)
}
