package sampler

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Caller is an agent that can be asked.
type Caller interface {
	Call(ctx context.Context, method string, in, out any) error
}

// Pair is a client and a server that are to meet.
type Pair struct {
	Client, Server Caller
	At             netip.AddrPort // where the client reaches the server
	Own            netip.AddrPort // what that is at the server, who listens there alone
}

// Unmet is a pair of which no packet arrived, or no answer.
type Unmet struct {
	Pair int    // its place among those that were to meet
	Last string // what was seen last
}

// Meet has each client greet its server until that answers, over UDP and TCP: then a packet
// has crossed between them in each direction. It gives the first pair that did not meet
// within a time.
func Meet(ctx context.Context, pairs []Pair, within time.Duration) (*Unmet, error) {
	cookie := make([]byte, cookieSize)
	rand.Read(cookie)
	at := map[Caller][]netip.AddrPort{}
	for _, p := range pairs {
		at[p.Server] = append(at[p.Server], p.Own)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var answering, greeting sync.WaitGroup
	for server, addrs := range at {
		answering.Go(func() {
			if err := server.Call(ctx, MethodAnswer, Answer{addrs, cookie}, nil); err != nil {
				cancel(err)
			}
		})
	}
	unmet, errs := make([]*Unmet, len(pairs)), make([]error, len(pairs))
	const atOnce = 32 // clients that are asked at the same time
	free := make(chan struct{}, atOnce)
	for i, p := range pairs {
		free <- struct{}{}
		greeting.Go(func() {
			defer func() { <-free }()
			var g Greeted
			errs[i] = p.Client.Call(ctx, MethodGreet, Greet{p.At, cookie, within}, &g)
			if errs[i] == nil && !g.Answered {
				unmet[i] = &Unmet{i, g.Last}
			}
		})
	}
	greeting.Wait()
	err := context.Cause(ctx)
	cancel(nil)
	answering.Wait()
	if err != nil {
		return nil, err
	}
	for i := range pairs {
		if unmet[i] != nil || errs[i] != nil {
			return unmet[i], errs[i]
		}
	}
	return nil, nil
}

// Answer asks an endpoint to answer greetings until nobody greets any more.
type Answer struct {
	At     []netip.AddrPort // its own, at which the greetings of clients arrive
	Cookie []byte           // of cookieSize; who does not know it is not answered
}

// answerTime is how long a stranger who says nothing is listened to.
const answerTime = 2 * time.Second

// Run answers until ctx ends, which is no error.
func (a Answer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	bound := map[netip.AddrPort]bool{}
	for _, at := range a.At {
		if bound[at] {
			continue
		}
		if err := a.listen(ctx, &serving, at); err != nil {
			return fmt.Errorf("sampler: answer at %s: %w", at, err)
		}
		bound[at] = true
	}
	<-ctx.Done()
	return nil
}

func (a Answer) listen(ctx context.Context, serving *sync.WaitGroup, at netip.AddrPort) error {
	family := "4"
	if at.Addr().Is6() {
		family = "6"
	}
	config := net.ListenConfig{}
	l, err := config.Listen(ctx, "tcp"+family, at.String())
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	p, err := config.ListenPacket(ctx, "udp"+family, at.String())
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { p.Close() })
	serving.Go(func() { a.connections(l) })
	serving.Go(func() { a.datagrams(p) })
	return nil
}

func (a Answer) connections(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { // who comes late is not waited for
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(answerTime))
			said := make([]byte, cookieSize)
			if _, err := io.ReadFull(c, said); err == nil && bytes.Equal(said, a.Cookie) {
				_, _ = c.Write(a.Cookie)
			}
		}()
	}
}

func (a Answer) datagrams(p net.PacketConn) {
	said := make([]byte, 2*cookieSize)
	for {
		n, from, err := p.ReadFrom(said)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && bytes.Equal(said[:n], a.Cookie) {
			_, _ = p.WriteTo(a.Cookie, from)
		}
	}
}

// Greet asks an endpoint to greet one that answers.
type Greet struct {
	To     netip.AddrPort
	Cookie []byte
	Within time.Duration
}

// Greeted says what came of it.
type Greeted struct {
	Answered bool
	Last     string // what was seen last, where nobody answered
}

const (
	// The time between two greetings is greetSoon at first, since who answers may just be about to listen, then
	// each time twice as long, and greetPause at most: a packet may be lost, or come too early.
	greetSoon  = 2 * time.Millisecond
	greetPause = 40 * time.Millisecond
	// connectTime is how long the first attempt to connect may take, and each further one
	// twice as long. The kernel would send a packet that was lost again after a second.
	connectTime = 250 * time.Millisecond
)

// Run greets until there is an answer over UDP and one over TCP, or the time is over: rules
// for the one may be there before those for the other.
func (g Greet) Run(ctx context.Context) (Greeted, error) {
	ctx, cancel := context.WithTimeout(ctx, g.Within)
	defer cancel()
	var answered [2]bool
	last := [2]string{silence, silence}
	var greeting sync.WaitGroup
	for i, way := range []func(context.Context, func(error)) bool{g.datagrams, g.connections} {
		greeting.Go(func() {
			answered[i] = way(ctx, func(err error) {
				if ctx.Err() == nil {
					last[i] = seen(err)
				}
			})
		})
	}
	greeting.Wait()
	switch {
	case answered[0] && answered[1]:
		return Greeted{Answered: true}, nil
	case answered[0]:
		return Greeted{Last: last[1] + " over TCP"}, nil
	case answered[1]:
		return Greeted{Last: last[0] + " over UDP"}, nil
	case last[1] == silence:
		last[1] = last[0]
	}
	return Greeted{Last: last[1]}, nil
}

// silence is what is seen where nothing comes back.
const silence = "nothing comes back"

// seen is what an attempt met with, in a few words.
func seen(err error) string {
	var code syscall.Errno
	var late net.Error
	switch {
	case errors.As(err, &code) && !code.Timeout():
		return code.Error()
	case errors.As(err, &late) && late.Timeout():
		return silence
	}
	return err.Error()
}

func (g Greet) network(protocol string) string {
	if g.To.Addr().Is6() {
		return protocol + "6"
	}
	return protocol + "4"
}

// datagrams sends one after the other until one is answered: for a while from one socket,
// since an answer may take longer than the pause between them, and then from another one, for
// twice as long. A host that has seen the first before it had its rules for address translation
// leaves all others from the same port as they are, as long as they come.
func (g Greet) datagrams(ctx context.Context, failed func(error)) bool {
	pause := pauses()
	for long := connectTime; ctx.Err() == nil; {
		answered, err := g.talk(ctx, long, pause, failed)
		if answered {
			return true
		}
		if err == nil {
			long = min(2*long, g.Within)
		} else {
			failed(err)
			wait(ctx, pause())
		}
	}
	return false
}

// talk sends datagrams from one socket for so long.
func (g Greet) talk(ctx context.Context, long time.Duration, pause func() time.Duration, failed func(error)) (answered bool, err error) {
	c, err := (&net.Dialer{}).DialContext(ctx, g.network("udp"), g.To.String())
	if err != nil {
		return false, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	for end := time.Now().Add(long); ctx.Err() == nil && time.Now().Before(end); {
		next := time.Now().Add(pause())
		_, err := c.Write(g.Cookie)
		if err == nil {
			if err = g.hear(c, next); err == nil {
				return true, nil
			}
		}
		failed(err)
		wait(ctx, time.Until(next))
	}
	return false, nil
}

// connections makes one after the other until one is answered.
func (g Greet) connections(ctx context.Context, failed func(error)) bool {
	pause := pauses()
	for long := connectTime; ctx.Err() == nil; {
		began := time.Now()
		next := began.Add(pause())
		err := g.connection(ctx, long)
		if err == nil {
			return true
		}
		failed(err)
		if time.Since(began) >= long { // else it was refused
			long = min(2*long, g.Within)
		}
		wait(ctx, time.Until(next))
	}
	return false
}

func (g Greet) connection(ctx context.Context, long time.Duration) error {
	c, err := (&net.Dialer{Timeout: long}).DialContext(ctx, g.network("tcp"), g.To.String())
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := c.Write(g.Cookie); err != nil {
		return err
	}
	return g.hear(c, time.Now().Add(long))
}

func (g Greet) hear(c net.Conn, until time.Time) error {
	if err := c.SetReadDeadline(until); err != nil {
		return err
	}
	said := make([]byte, cookieSize)
	if _, err := io.ReadFull(c, said); err != nil {
		return err
	}
	if !bytes.Equal(said, g.Cookie) {
		return errors.New("somebody else answers")
	}
	return nil
}

// pauses are how long to wait before the next greeting, each time.
func pauses() func() time.Duration {
	next := greetSoon / 2
	return func() time.Duration {
		next = min(2*next, greetPause)
		return next
	}
}

// wait waits, but not longer than ctx.
func wait(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}
