package dockerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/agent"
)

// knocking asks for connections to a port until something answers.
type knocking struct {
	To      netip.AddrPort
	Greeted bool // nothing counts as an answer but what greet says
	Within  time.Duration
}

// knocked is what came of it.
type knocked struct {
	Answered bool
	Last     string // what was seen last, where nothing answered
}

// knockTime is how long one connection may take; between two of them is knockPause.
const (
	knockTime  = 500 * time.Millisecond
	knockPause = 50 * time.Millisecond
)

// greeting is what greet says.
const greeting = "nettoll"

// greet says the greeting to whoever connects to an address, until ctx ends.
func greet(ctx context.Context, at netip.AddrPort) (struct{}, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
	if err != nil {
		return struct{}{}, err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return struct{}{}, err
		}
		_, _ = io.WriteString(conn, greeting) // who has gone away knocks again
		conn.Close()
	}
}

// knock connects until the other end accepts or refuses: either proves that packets
// arrive there and come back. What stands between can do so, too, before it knows where
// to lead connections: then nothing but a greeting proves it.
func knock(ctx context.Context, k knocking) (knocked, error) {
	ctx, cancel := context.WithTimeout(ctx, k.Within)
	defer cancel()
	d := net.Dialer{Timeout: knockTime}
	for last := "nothing was sent"; ; {
		conn, err := d.DialContext(ctx, "tcp", k.To.String())
		switch {
		case err == nil && k.Greeted:
			if err := greeted(conn); err != nil {
				last = err.Error()
				break
			}
			return knocked{Answered: true}, nil
		case err == nil:
			conn.Close()
			return knocked{Answered: true}, nil
		case errors.Is(err, unix.ECONNREFUSED) && !k.Greeted:
			return knocked{Answered: true}, nil
		case ctx.Err() == nil:
			last = err.Error()
		}
		select {
		case <-ctx.Done():
			return knocked{Last: last}, nil
		case <-time.After(knockPause):
		}
	}
}

// greeted reads the greeting.
func greeted(conn net.Conn) error {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(knockTime)); err != nil {
		return err
	}
	said, err := io.ReadAll(io.LimitReader(conn, int64(len(greeting))))
	if err == nil && string(said) != greeting {
		err = errors.New("somebody else answers")
	}
	return err
}

// Greet has the container greet whoever connects to a port of its own address, until ctx
// ends, which is no error.
func (c *Container) Greet(ctx context.Context, port int) error {
	at := netip.AddrPortFrom(c.Addr(false), uint16(port))
	if err := c.first.Call(ctx, methodGreet, at, nil); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// Knock says whether packets from the container arrive at an address and answers come
// back, for which it waits. Port is best one that nobody listens on or, where somebody
// on the way answers as well, one on which the container greets. Where nothing answers,
// last is what was seen last.
func (c *Container) Knock(ctx context.Context, at netip.AddrPort, greeted bool, within time.Duration) (answered bool, last string, err error) {
	return knockBy(ctx, c.name, c.first, knocking{at, greeted, within})
}

// Knock is the same from the host itself.
func (h *Host) Knock(ctx context.Context, at netip.AddrPort, greeted bool, within time.Duration) (answered bool, last string, err error) {
	a, err := agent.Start(ctx, h)
	if err != nil {
		return false, "", err
	}
	defer a.Close()
	return knockBy(ctx, h.name, a, knocking{at, greeted, within})
}

func knockBy(ctx context.Context, name string, a *agent.Client, at knocking) (bool, string, error) {
	var k knocked
	if err := a.Call(ctx, methodKnock, at, &k); err != nil {
		return false, "", fmt.Errorf("%s: %w", name, err)
	}
	return k.Answered, k.Last, nil
}
