package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// dialAll makes the connections of a client, all at once. When one fails, or ctx ends, none is
// left.
func (s *session) dialAll(ctx context.Context, specs []flowSpec) error {
	ready := make(chan error, len(specs))
	for i, spec := range specs {
		s.threads.Go(func() { s.dialFlow(s.flows[i], spec, ready) })
	}
	for range specs {
		select {
		case err := <-ready:
			if err != nil {
				s.end()
				return err
			}
		case <-ctx.Done():
			s.end()
			return context.Cause(ctx)
		}
	}
	return nil
}

// dialFlow connects a flow on the thread on which it will run, reports the outcome on ready, and
// runs the flow.
func (s *session) dialFlow(f *flow, spec flowSpec, ready chan<- error) {
	if !s.traffic.meeting.managed {
		if err := f.ownThread(); err != nil {
			ready <- fmt.Errorf("%s: %w", f.label, err)
			return
		}
	}
	if err := s.traffic.meeting.dial(s, f, spec); err != nil {
		ready <- fmt.Errorf("connect to %v: %w", spec.To, err)
		return
	}
	ready <- nil
	s.live(f)
}

// dialTCP makes a connection and introduces it to the server.
func dialTCP(s *session, f *flow, spec flowSpec) error {
	sa, err := s.opens(f, spec.To, unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	for p := s.patience(); ; {
		err := unix.Connect(f.fd, sa)
		if err == nil {
			break
		}
		if err := p.retry(err); err != nil {
			return err
		}
	}
	if err := s.equip(f, f.fd); err != nil {
		return err
	}
	return greet(handshake{f.fd, s.patience()}, hello(s.cookie, spec.Index))
}

// greet sends the greeting and waits for the answer.
func greet(conn handshake, greeting []byte) error {
	if _, err := conn.Write(greeting); err != nil {
		return fmt.Errorf("send cookie: %w", err)
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			return errors.New("the peer closed the connection instead of acknowledging the cookie")
		}
		return fmt.Errorf("wait for the server to acknowledge the cookie: %w", err)
	}
	if answer[0] == welcome {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(conn, 1<<10))
	if err != nil || answer[0] != refused || len(text) == 0 {
		return errors.New("the peer does not speak nettoll's protocol")
	}
	return errors.New(string(text))
}
