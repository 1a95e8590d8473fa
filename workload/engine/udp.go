package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/wrap"
)

// Datagrams have no connection. A client sends the same greeting that begins a TCP connection,
// until the server answers it from the address it was sent to: the cookie, then welcome, or refused
// and a text. By then the flow has a socket of its own at the server, on the same port and
// connected to the client's address as it appears to the server. Later datagrams of a flow begin
// with the second half of the cookie, which no greeting does.
const (
	// greetEvery is how often a client that is not answered greets again.
	greetEvery = 50 * time.Millisecond
	// attendEvery is how often a server that still answers greetings checks whether the traffic
	// begins; it is notified at least leastLead in advance.
	attendEvery = leastLead / 2
)

// listenUDP accepts greetings to an address.
func listenUDP(s *session, at netip.AddrPort) error {
	fd, sa, err := newSocket(at, unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	if err = unix.Bind(fd, sa); err == nil { // the option comes after bind, which must fail if the port is in use
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	l := s.listens(fd, at)
	s.threads.Go(func() { s.takeGreetings(l) })
	return nil
}

// takeGreetings makes flows of clients that know the cookie, until the session is halted. A
// repeated greeting has been answered, or will be.
func (s *session) takeGreetings(l *listener) {
	b := make([]byte, helloSize+1)
	for !s.halted.Load() {
		if !readable(l.fd) {
			continue
		}
		n, from, err := unix.Recvfrom(l.fd, b, unix.MSG_DONTWAIT)
		if err != nil || s.halted.Load() {
			continue
		}
		index, known := parseHello(b[:n], s.cookie)
		if !known || index >= len(s.flows) {
			s.strangers.Add(1)
			continue
		}
		if f := s.claim(l, b[:n]); f != nil {
			s.threads.Go(func() { s.admitDatagrams(f, from) })
		}
	}
}

// admitDatagrams gives a flow its socket and answers its client.
func (s *session) admitDatagrams(f *flow, peer unix.Sockaddr) {
	err := f.ownThread()
	if err == nil {
		err = s.openDatagrams(f, peer)
	}
	if err == nil {
		err = s.equip(f, f.fd)
	}
	if err != nil {
		unix.Sendto(f.listener.fd, s.answer(refused, "server: "+err.Error()), 0, peer)
		s.fail(fmt.Errorf("%s: %w", f.label, err))
		return
	}
	if err := s.attend(f); err != nil {
		s.fail(fmt.Errorf("%s: answer the client: %w", f.label, err))
		return
	}
	s.live(f)
}

func (s *session) openDatagrams(f *flow, peer unix.Sockaddr) error {
	sa, err := s.opens(f, f.listener.at, unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := unix.Bind(f.fd, sa); err != nil {
		return fmt.Errorf("bind %v: %w", f.listener.at, err)
	}
	return wrap.Error(unix.Connect(f.fd, peer), "connect to the client")
}

func (s *session) answer(status byte, text string) []byte {
	return append(append(bytes.Clone(s.cookie), status), text...)
}

// attend answers the client's greetings until the traffic begins or the first of it arrives.
func (s *session) attend(f *flow) error {
	if err := setTimeouts(f.fd, attendEvery); err != nil {
		return err
	}
	b := make([]byte, helloSize+1)
	for greeted := true; ; {
		if greeted {
			if _, err := unix.Write(f.fd, s.answer(welcome, "")); err != nil {
				return err
			}
		}
		select {
		case <-s.begin:
			return setTimeouts(f.fd, pollInterval)
		case <-s.quit:
			return nil
		default:
		}
		n, _, err := unix.Recvfrom(f.fd, b, unix.MSG_PEEK)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			greeted = false
			continue
		case err != nil:
			return err
		}
		if _, greeted = parseHello(b[:n], s.cookie); !greeted { // traffic has arrived
			return setTimeouts(f.fd, pollInterval)
		}
		unix.Read(f.fd, b)
	}
}

// dialUDP greets the server until it answers.
func dialUDP(s *session, f *flow, spec flowSpec) error {
	sa, err := s.opens(f, spec.To, unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	if err := unix.Connect(f.fd, sa); err != nil {
		return err
	}
	if err := s.equip(f, f.fd); err != nil {
		return err
	}
	if err := setTimeouts(f.fd, greetEvery); err != nil {
		return err
	}
	greeted := nanotime()
	if err := s.greetDatagrams(f.fd, hello(s.cookie, spec.Index)); err != nil {
		return err
	}
	s.answered(nanotime() - greeted)
	return setTimeouts(f.fd, pollInterval)
}

// answered notes how long the answer to a greeting took.
func (s *session) answered(took int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fastest = min(cmp.Or(s.fastest, took), took)
}

func (s *session) greetDatagrams(fd int, greeting []byte) error {
	b := make([]byte, 1<<10)
	for p := s.patience(); ; {
		_, err := unix.Write(fd, greeting)
		n := 0
		if err == nil {
			n, err = unix.Read(fd, b)
		}
		switch {
		case errors.Is(err, unix.ECONNREFUSED):
			return fmt.Errorf("nobody receives datagrams there: %w", err)
		case err != nil:
			if err := p.retry(err); err != nil {
				return fmt.Errorf("greet with datagrams: %w (does this network carry UDP?)", err)
			}
		case n <= cookieSize || !bytes.Equal(b[:cookieSize], s.cookie):
			return errors.New("the peer does not speak nettoll's protocol")
		case b[cookieSize] == welcome:
			return nil
		default:
			return errors.New(string(b[cookieSize+1 : n]))
		}
	}
}
