package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"nettoll/record"
)

// Clocks of different machines are compared over the measured network, which answers much faster than the control path
// does: the server answers datagrams with its clock, and the client takes the fastest answer of some. The other ends are
// aligned to the first server in this way, along the pairs that talk. Only the first server is aligned to this process
// over the control path: an error in that moves the windows of all ends alike.

const (
	pings     = 40 // how often a client is answered at most
	fewPings  = 8  // likewise, if that took longer than longPings: a long way has a large error anyway
	longPings = 200 * time.Millisecond
	pingLimit = 200 * time.Millisecond // for one answer
	pingAgain = 20 * time.Millisecond  // after a refusal: the server may not listen yet
	pingTime  = time.Second            // after so much waiting without an answer the client gives up
)

type answerParams struct {
	At     netip.AddrPort `json:"at"`
	Cookie []byte         `json:"cookie"`
}

type compareParams struct {
	To     netip.AddrPort `json:"to"`
	Cookie []byte         `json:"cookie"`
}

// compareResult is how far the server's clock is ahead of the client's, and how long the fastest answer took.
type compareResult struct {
	Ahead int64 `json:"ahead_ns"`
	Took  int64 `json:"took_ns"`
}

// clock reads a clock, in nanoseconds.
type clock func() int64

// answer answers datagrams that begin with the cookie until ctx ends.
func (now clock) answer(ctx context.Context, p answerParams) (struct{}, error) {
	if len(p.Cookie) != cookieSize {
		return struct{}{}, fmt.Errorf("cookie of %d bytes: %d are needed", len(p.Cookie), cookieSize)
	}
	if !p.At.IsValid() || p.At.Addr().IsUnspecified() {
		return struct{}{}, fmt.Errorf("answer at %v: an address of this machine is needed", p.At)
	}
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(p.At))
	if err != nil {
		return struct{}{}, err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	b := make([]byte, 2*cookieSize+8)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		at := now()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return struct{}{}, nil
		}
		if err == nil && n == cookieSize+8 && bytes.Equal(b[:cookieSize], p.Cookie) {
			_, _ = c.WriteToUDPAddrPort(binary.BigEndian.AppendUint64(b[:n:n], uint64(at)), from) // a lost answer is asked for again
		}
	}
}

// compare asks for the clock of an agent that answers.
func (now clock) compare(ctx context.Context, p compareParams) (r compareResult, err error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", p.To.String())
	if err != nil {
		return r, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	var o offset
	b := make([]byte, 2*cookieSize+16)
	began := now()
	heard := 0
	var waited time.Duration // since the last answer, without what a pause of the machine has added
	enough := func() bool {
		return heard >= pings || heard >= fewPings && time.Duration(now()-began) > longPings
	}
	for number := uint64(1); !enough() && waited < pingTime && ctx.Err() == nil; number++ {
		question := binary.BigEndian.AppendUint64(p.Cookie[:len(p.Cookie):len(p.Cookie)], number)
		if err := c.SetDeadline(time.Now().Add(pingLimit)); err != nil {
			return r, err
		}
		asked := now()
		_, err := c.Write(question)
		for err == nil {
			var n int
			n, err = c.Read(b)
			answered := now()
			if err == nil && n == len(question)+8 && bytes.Equal(b[:len(question)], question) {
				o.learn(asked, int64(binary.BigEndian.Uint64(b[len(question):])), answered)
				waited, heard = 0, heard+1
				break
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			waited += pingLimit
		default:
			time.Sleep(pingAgain)
			waited += pingAgain
		}
	}
	if o.took == 0 {
		return r, fmt.Errorf("no answer from %v", p.To)
	}
	return compareResult{Ahead: o.ahead, Took: o.took}, nil
}

// compare compares the clocks of ends on different machines, before anything listens at their ports.
func (t *trial) compare(ctx context.Context) error {
	if !t.job.Distant {
		return nil
	}
	t.compared = nanotime()
	known, bound, err := t.compareAll(ctx)
	if known != nil {
		t.known, t.clocks = known, &record.Clocks{Bound: float64(bound) / 1e9, Over: record.OverNetwork}
	}
	return err
}

// alike compares the clocks again when the turns are over and nothing listens any more. A clock that has jumped is an
// error, since its windows were at another time than those of the other end. A drift is added to the recorded bound.
func (t *trial) alike(ctx context.Context) error {
	if t.known == nil {
		return nil
	}
	now, bound, err := t.compareAll(ctx)
	if err != nil {
		return err
	}
	was := int64(t.clocks.Bound * 1e9)
	drift := int64(slewing * float64(nanotime()-t.compared))
	if now == nil {
		t.clocks.Bound = float64(was+drift) / 1e9
		return nil
	}
	most := int64(0)
	for _, p := range t.parties() {
		by := now[p.timedBy] - t.known[p.timedBy]
		if max(by, -by) > 2*(was+bound)+drift {
			return fmt.Errorf("%v: its clock has jumped by %v during the turns", p, time.Duration(by).Round(time.Microsecond))
		}
		most = max(most, by, -by)
	}
	t.clocks.Bound = float64(max(was, bound)+most) / 1e9
	return nil
}

// compareAll returns how far each clock is ahead of the first server's, in nanoseconds, and the greatest error;
// nil if datagrams do not cross.
func (t *trial) compareAll(ctx context.Context) (known map[string]int64, bound int64, err error) {
	known = map[string]int64{t.servers[0].timedBy: 0}
	for grown := true; grown; {
		grown = false
		for _, f := range t.flows {
			_, c := known[f.client.timedBy]
			_, s := known[f.server.timedBy]
			if c == s {
				continue
			}
			r, err := t.compareTwo(ctx, f)
			if ctx.Err() != nil {
				return nil, 0, context.Cause(ctx)
			}
			if err != nil {
				return nil, 0, nil // then the control path is used, as where datagrams do not cross
			}
			if s {
				known[f.client.timedBy] = known[f.server.timedBy] - r.Ahead
			} else {
				known[f.server.timedBy] = known[f.client.timedBy] + r.Ahead
			}
			bound = max(bound, r.Took/2)
			grown = true
		}
	}
	for _, p := range t.parties() {
		if _, ok := known[p.timedBy]; !ok {
			return nil, 0, nil
		}
	}
	return known, bound, nil
}

// compareTwo compares the clocks of the two ends of a flow.
func (t *trial) compareTwo(ctx context.Context, f plannedFlow) (r compareResult, err error) {
	answering, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		at := answerParams{At: f.server.listen[0], Cookie: t.cookie}
		for _, a := range f.server.listen {
			if a.Addr().Is4() == f.client.flows[f.atClient].To.Addr().Is4() {
				at.At = a
			}
		}
		_ = f.server.call(answering, pings*pingLimit+pingTime+t.answerLimit(), methodAnswer, at, nil) // fails when it is told to end
	}()
	err = f.client.call(ctx, pings*pingLimit+pingTime+t.answerLimit(), methodCompare, compareParams{To: f.client.flows[f.atClient].To, Cookie: t.cookie}, &r)
	end()
	<-done
	if err == nil { // the port is free again once the server answers another call
		err = f.server.call(ctx, t.answerLimit(), methodClock, struct{}{}, new(clockResult))
	}
	return r, err
}

// agree relates all clocks to ours through that of the first server, if they were compared over the network. Otherwise
// the offsets over the control path stay, and their bound is noted if the ends may be on different machines. It is an error if the two
// contradict each other, as where two machines that are copies of one have the same boot id, and so were taken for one clock.
func (t *trial) agree() error {
	if t.known == nil {
		if t.job.Distant {
			bound := record.Most(t.parties(), func(p *party) int64 { return p.clock.took })
			t.clocks = &record.Clocks{Bound: float64(bound) / 1e9, Over: record.OverControl}
		}
		return nil
	}
	first := t.servers[0] // which is 0 ahead of itself
	most := first.clock.took + int64(t.clocks.Bound*1e9*float64(len(t.known))+slewing*float64(nanotime()-t.compared))
	for _, p := range t.parties() {
		p.ahead = first.ahead + t.known[p.timedBy]
		if off := p.ahead - p.clock.ahead; max(off, -off) > most+p.clock.took {
			return fmt.Errorf("%v: its clock is not the one that was compared over the network, but %v from it", p, time.Duration(off).Round(time.Microsecond))
		}
	}
	return nil
}
