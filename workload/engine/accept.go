package engine

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"nettoll/internal/wrap"
)

// listener accepts connections until it is shut. Its socket is closed when nobody uses it any more.
type listener struct {
	fd   int
	at   netip.AddrPort
	shut func()
}

// listens registers a socket on which clients arrive.
func (s *session) listens(fd int, at netip.AddrPort) *listener {
	l := &listener{fd: fd, at: at, shut: sync.OnceFunc(func() { unix.Shutdown(fd, unix.SHUT_RDWR) })}
	s.listeners = append(s.listeners, l)
	return l
}

// backlog is how many connections may wait to be accepted; the kernel lowers it to
// net.core.somaxconn.
const backlog = 4096

// listenTCP accepts connections to an address.
func listenTCP(s *session, at netip.AddrPort) (err error) {
	fd, sa, err := newSocket(at, unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if err := s.tune(fd); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := unix.Bind(fd, sa); err != nil {
		return err
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return err
	}
	l := s.listens(fd, at)
	s.threads.Go(func() { s.accept(l) })
	return nil
}

// accept accepts connections until the session is halted. Each is examined separately, so that a
// silent stranger delays nobody. Where connections are also made during the traffic, it leaves
// those to the flows.
func (s *session) accept(l *listener) {
	for !s.halted.Load() {
		if !readable(l.fd) {
			continue
		}
		if s.traffic.meeting.brief && s.complete() {
			return
		}
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			s.threads.Go(func() { s.admit(l, fd) })
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ECONNABORTED):
		case s.halted.Load():
		default:
			s.fail(fmt.Errorf("accept connection: %w", err))
			return
		}
	}
}

// readable waits until a socket has something to read or accept, for at most pollInterval.
func readable(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(pollInterval.Milliseconds()))
	return err == nil && n > 0
}

// admit turns a connection that presents the cookie into a flow.
func (s *session) admit(l *listener, fd int) {
	conn := handshake{fd, s.patience()}
	greeting := make([]byte, helloSize)
	if _, err := io.ReadFull(conn, greeting); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		clear(greeting)
	}
	f := s.claim(l, greeting)
	if f == nil {
		s.strangers.Add(1)
		unix.Close(fd)
		return
	}
	err := errors.Join(wrap.Error(f.ownThread(), "%s", f.label), s.equip(f, fd))
	if err != nil {
		conn.Write(append([]byte{refused}, "server: "+err.Error()...))
		f.release() // the client reads to the end
		s.fail(err)
		return
	}
	if _, err := conn.Write([]byte{welcome}); err != nil {
		s.fail(fmt.Errorf("%s: acknowledge: %w", f.label, err))
		return
	}
	if err := forgetAnswer(fd); err != nil {
		s.fail(fmt.Errorf("%s: %w", f.label, err))
		return
	}
	s.live(f)
}

// forgetAnswer lets the kernel acknowledge as on a connection over which nothing was sent. Since the greeting was
// answered, it takes the connection for an interactive one and delays acknowledgements, so that an answer can carry them
// (TCP_QUICKACK in tcp(7)). A stream has no answers: under BBR, four on one CPU then had between a third and all of the
// throughput of iperf3, whose server sends nothing on the connections of its streams. Where responses follow, as in
// tcp_rr, the kernel takes the connection for an interactive one again.
func forgetAnswer(fd int) error {
	return wrap.Error(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1), "set TCP_QUICKACK")
}

// claim returns the flow that a greeting asks for, or nil if the greeting is a stranger's or the
// flow is claimed already.
func (s *session) claim(l *listener, greeting []byte) *flow {
	index, ok := parseHello(greeting, s.cookie)
	if !ok || index >= len(s.flows) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flows[index]
	if f.claimed {
		return nil
	}
	f.claimed, f.listener = true, l
	return f
}
