package sampler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"nettoll/internal/atonce"
	"nettoll/internal/await"
	"nettoll/network"
)

// Pair is a client and a server that should meet.
type Pair struct {
	Client, Server network.Agent
	At             netip.AddrPort // where the client reaches the server
	Own            netip.AddrPort // where packets that are sent to At arrive: the server listens only there
	OnlyTCP        bool           // UDP does not lead there
	More           int            // see Greet.More
	Met            *time.Time     // is set, unless it is nil, when the client has its answer: it takes longer until the server has stopped answering
}

// Unmet is a pair between which no packet, or no answer, arrived.
type Unmet struct {
	Pair int    // its index among the pairs of Meet
	Half bool   // there was an answer over one of the protocols, UDP or TCP
	Last string // the last thing that was observed
}

// Meet has each client greet its server, over UDP and TCP, until it gets an answer: then a packet
// has crossed between them in each direction. It returns the first pair that did not meet within
// the given time, or nil.
func Meet(ctx context.Context, pairs []Pair, within time.Duration) (*Unmet, error) {
	return meet(ctx, pairs, Greet{Within: within})
}

// MeetSteadily is like Meet, and returns within Steady of when the network begins to carry packets: clients greet at that
// interval. It takes more CPU time.
func MeetSteadily(ctx context.Context, pairs []Pair, within time.Duration) (*Unmet, error) {
	return meet(ctx, pairs, Greet{Within: within, Steady: true})
}

// meet has clients greet in the way that g describes.
func meet(ctx context.Context, pairs []Pair, g Greet) (*Unmet, error) {
	cookie := NewCookie()
	at := map[network.Agent][]netip.AddrPort{}
	for _, p := range pairs {
		at[p.Server] = append(at[p.Server], p.Own)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var answering sync.WaitGroup
	for server, addrs := range at {
		answering.Go(func() {
			if err := server.Call(ctx, MethodAnswer, Answer{addrs, cookie}, nil); err != nil {
				cancel(err)
			}
		})
	}
	unmet := make([]*Unmet, len(pairs))
	var failed atomic.Bool // then the others need not be asked
	const atOnce = 32      // clients that are asked concurrently
	errs := atonce.Each(atOnce, pairs, func(i int, p Pair) error {
		if failed.Load() {
			return nil
		}
		g, got := g, Greeted{}
		g.To, g.Cookie, g.OnlyTCP, g.More = p.At, cookie, p.OnlyTCP, p.More
		err := p.Client.Call(ctx, MethodGreet, g, &got)
		if err == nil && !got.Answered {
			unmet[i] = &Unmet{i, got.Half, got.Last}
			failed.Store(true)
		} else if err == nil && p.Met != nil {
			*p.Met = time.Now()
		}
		return err
	})
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

// Answer asks an endpoint to answer greetings until the call is cancelled.
type Answer struct {
	At     []netip.AddrPort // the endpoint's own addresses, at which the greetings of clients arrive
	Cookie []byte           // of NewCookie; senders that do not know it get no answer
}

// answerTime is how long a connection may stay open without sending the cookie.
const answerTime = 2 * time.Second

// Run answers until ctx ends, which is not an error. When it returns, its ports are free, since
// closing a socket returns only when the kernel has closed it.
func (a Answer) Run(ctx context.Context) error {
	var sockets []io.Closer
	var serving sync.WaitGroup
	defer func() {
		for _, s := range sockets {
			s.Close()
		}
		serving.Wait()
	}()
	config := net.ListenConfig{}
	bound := map[netip.AddrPort]bool{}
	for _, at := range a.At {
		if bound[at] {
			continue
		}
		bound[at] = true
		l, err := config.Listen(ctx, over("tcp", at), at.String())
		if err != nil {
			return fmt.Errorf("sampler: answer at %s: %w", at, err)
		}
		sockets = append(sockets, l)
		serving.Go(func() { a.connections(l) })
		p, err := config.ListenPacket(ctx, over("udp", at), at.String())
		if err != nil {
			return fmt.Errorf("sampler: answer at %s: %w", at, err)
		}
		sockets = append(sockets, p)
		serving.Go(func() { a.datagrams(p) })
	}
	<-ctx.Done()
	return nil
}

func (a Answer) connections(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { // Run does not wait for connections that are still open
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

// Greet asks an endpoint to greet another one, which runs an Answer.
type Greet struct {
	To      netip.AddrPort
	Cookie  []byte
	Within  time.Duration
	Steady  bool // greet at the interval Steady
	OnlyTCP bool // not over UDP
	More    int  // greetings that are answered after the first, over each protocol
}

// Greeted is the result of a Greet.
type Greeted struct {
	Answered bool
	Half     bool   // only one of the protocols was answered
	Last     string // the last thing that was observed, if a protocol was not answered
}

const (
	// The time between two greetings is greetSoon at first, since the server may be about to
	// listen, then twice as long each time, and at most greetPause: a packet may be lost, or
	// arrive too early.
	greetSoon  = 2 * time.Millisecond
	greetPause = 40 * time.Millisecond
	// connectTime is how long the first attempt to connect may take. Each further one may take
	// twice as long. The kernel would retransmit a lost packet only after a second.
	connectTime = 250 * time.Millisecond
	// Steady is the time between two greetings of MeetSteadily, over each protocol.
	Steady = 5 * time.Millisecond
)

// Run greets until there is an answer over UDP and one over TCP, unless only one is asked for, or the time is over: the rules
// for one protocol may be in force before those for the other.
func (g Greet) Run(ctx context.Context) (Greeted, error) {
	over := time.Now().Add(g.Within)
	ctx, cancel := context.WithDeadline(ctx, over)
	defer cancel()
	var answered [2]bool
	last := [2]string{silence, silence}
	var greeting sync.WaitGroup
	ways := []func(context.Context, func(error)) bool{g.datagrams, g.connections}
	if g.Steady {
		ways = []func(context.Context, func(error)) bool{g.steadily("udp"), g.steadily("tcp")}
	}
	for i, way := range ways {
		if g.OnlyTCP && i == 0 {
			answered[0] = true
			continue
		}
		greeting.Go(func() {
			answered[i] = way(ctx, func(err error) {
				if ctx.Err() == nil && time.Now().Before(over) { // otherwise it was cut short
					last[i] = seen(err)
				}
			})
		})
	}
	greeting.Wait()
	for i, protocol := range []string{"udp", "tcp"} {
		for n := 0; n < g.More && answered[i] && !(g.OnlyTCP && i == 0); {
			switch err := g.once(ctx, protocol, connectTime); {
			case err == nil:
				n++
			case ctx.Err() != nil: // it was cut short
				answered[i] = false
			default:
				last[i] = seen(err)
				_ = await.Sleep(ctx, greetPause)
			}
		}
	}
	switch {
	case answered[0] && answered[1]:
		return Greeted{Answered: true}, nil
	case g.OnlyTCP:
		return Greeted{Last: last[1]}, nil
	case answered[0]:
		return Greeted{Half: true, Last: last[1] + " over TCP"}, nil
	case answered[1]:
		return Greeted{Half: true, Last: last[0] + " over UDP"}, nil
	case last[1] == silence:
		last[1] = last[0]
	}
	return Greeted{Last: last[1]}, nil
}

// silence is what is observed if nothing comes back.
const silence = "nothing comes back"

// seen describes the error of an attempt in a few words.
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

// over returns the network of a protocol over the IP version of an address, as package net names it.
func over(protocol string, at netip.AddrPort) string {
	if at.Addr().Is6() {
		return protocol + "6"
	}
	return protocol + "4"
}

// datagrams sends datagrams until one is answered: for a while from one socket, since an answer may
// take longer than the pause between datagrams, and then from another socket, for twice as long. A
// host that saw the first datagram before it had its rules for address translation leaves all later
// ones from the same port untranslated, as long as they keep coming.
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
			_ = await.Sleep(ctx, pause())
		}
	}
	return false
}

// talk sends datagrams from one socket for the given time.
func (g Greet) talk(ctx context.Context, long time.Duration, pause func() time.Duration, failed func(error)) (answered bool, err error) {
	c, err := (&net.Dialer{}).DialContext(ctx, over("udp", g.To), g.To.String())
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
		_ = await.Sleep(ctx, time.Until(next))
	}
	return false, nil
}

// connections makes one connection after the other until one is answered.
func (g Greet) connections(ctx context.Context, failed func(error)) bool {
	pause := pauses()
	for long := connectTime; ctx.Err() == nil; {
		began := time.Now()
		next := began.Add(pause())
		err := g.once(ctx, "tcp", long)
		if err == nil {
			return true
		}
		failed(err)
		if time.Since(began) >= long { // otherwise it was refused
			long = min(2*long, g.Within)
		}
		_ = await.Sleep(ctx, time.Until(next))
	}
	return false
}

// once sends one greeting from a port of its own, and waits for its answer.
func (g Greet) once(ctx context.Context, protocol string, long time.Duration) error {
	c, err := (&net.Dialer{Timeout: long}).DialContext(ctx, over(protocol, g.To), g.To.String())
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

// steadily returns a way to greet that begins an attempt every Steady, whether those before have ended or not, until one is
// answered. Each is from a port of its own, since connection tracking remembers what it did with the first packet of a port,
// and has connectTime, so that the kernel does not repeat the first packet of a connection.
func (g Greet) steadily(protocol string) func(context.Context, func(error)) bool {
	return func(ctx context.Context, failed func(error)) bool {
		var attempts sync.WaitGroup
		defer attempts.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan error)
		next := time.NewTicker(Steady)
		defer next.Stop()
		begin := func() {
			attempts.Go(func() {
				err := g.once(ctx, protocol, connectTime)
				select {
				case ended <- err:
				case <-ctx.Done():
				}
			})
		}
		begin()
		for {
			select {
			case <-ctx.Done():
				return false
			case <-next.C:
				begin()
			case err := <-ended:
				if err == nil {
					return true
				}
				failed(err)
			}
		}
	}
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
		return errors.New("something else answers there")
	}
	return nil
}

// pauses returns a function that returns the pause before the next greeting.
func pauses() func() time.Duration {
	next := greetSoon / 2
	return func() time.Duration {
		next = min(2*next, greetPause)
		return next
	}
}
