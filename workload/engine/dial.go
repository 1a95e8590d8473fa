package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"golang.org/x/sys/unix"
)

// dialAll makes the connections of a client, all at once. When one fails, or ctx
// ends, none is left.
func (s *session) dialAll(ctx context.Context, cookie []byte, specs []flowSpec) error {
	ready := make(chan error, len(specs))
	for i, spec := range specs {
		s.threads.Go(func() { s.dialFlow(s.flows[i], spec, cookie, ready) })
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

// dialFlow connects a flow on the thread on which it will run, says on ready how
// that went, and lives.
func (s *session) dialFlow(f *flow, spec flowSpec, cookie []byte, ready chan<- error) {
	defer f.release()
	if err := ownThread(f.cpu); err != nil {
		ready <- fmt.Errorf("%s: %w", f.label, err)
		return
	}
	fd, err := s.dial(spec.To)
	if err == nil {
		err = s.equip(f, fd)
	}
	if err == nil {
		err = greet(handshake{fd, s.patience()}, hello(cookie, spec.Index))
	}
	if err != nil {
		ready <- fmt.Errorf("connect to %v: %w", spec.To, err)
		return
	}
	ready <- nil
	s.live(f)
}

func (s *session) dial(to netip.AddrPort) (fd int, err error) {
	fd, sa, err := newSocket(to)
	if err != nil {
		return -1, err
	}
	warnings, err := tune(fd, s.traffic, s.options)
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	for _, w := range warnings {
		s.warn(w)
	}
	for p := s.patience(); ; {
		err := unix.Connect(fd, sa)
		if err == nil {
			return fd, nil
		}
		if err := p.retry(err); err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
}

// greet says hello and waits for the answer.
func greet(conn handshake, greeting []byte) error {
	if _, err := conn.Write(greeting); err != nil {
		return fmt.Errorf("send cookie: %w", err)
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			return errors.New("whoever accepted the connection closed it instead of acknowledging the cookie")
		}
		return fmt.Errorf("wait for the server to acknowledge the cookie: %w", err)
	}
	if answer[0] == welcome {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(conn, 1<<10))
	if err != nil || answer[0] != refused || len(text) == 0 {
		return errors.New("whoever accepted the connection does not speak nettoll's protocol")
	}
	return errors.New(string(text))
}
