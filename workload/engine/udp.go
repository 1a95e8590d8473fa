package engine

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Datagrams have no connection. A client sends its greeting, the same that begins a
// connection of TCP, until the server answers it from the address it was sent to:
// the cookie, then welcome, or refused and a text. By then the flow has a socket of
// its own at the server, on the same port and connected to the client, as whatever
// is on the way shows the client. Later datagrams of a flow begin with the second
// half of the cookie, which no greeting does.
const (
	// greetEvery is how often a client that is not answered greets again.
	greetEvery = 50 * time.Millisecond
	// attendEvery is how often a server that still answers greetings looks whether
	// the traffic begins; that is known leastLead before.
	attendEvery = leastLead / 2
)

// listenUDP binds the wildcard address of a family.
func listenUDP(s *session, wildcard netip.AddrPort) error {
	fd, sa, err := newSocket(wildcard, unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	level, option := unix.IPPROTO_IP, unix.IP_PKTINFO
	if wildcard.Addr().Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO
	}
	if err = unix.SetsockoptInt(fd, level, option, 1); err == nil {
		err = bind(fd, sa, wildcard)
	}
	if err == nil { // not before: the port must be free of others
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	s.listener = &listener{fd: fd, shut: sync.OnceFunc(func() { unix.Shutdown(fd, unix.SHUT_RDWR) })}
	s.threads.Go(s.takeGreetings)
	return nil
}

// takeGreetings makes flows of those who know the cookie, until the session is
// halted. A greeting that comes again has been answered, or will be.
func (s *session) takeGreetings() {
	b, extra := make([]byte, helloSize+1), make([]byte, controlRoom)
	for !s.halted.Load() {
		if !readable(s.listener.fd) {
			continue
		}
		n, nExtra, _, from, err := unix.Recvmsg(s.listener.fd, b, extra, unix.MSG_DONTWAIT)
		if err != nil || s.halted.Load() {
			continue
		}
		index, known := parseHello(b[:n], s.cookie)
		if !known || index >= len(s.flows) {
			s.strangers.Add(1)
			continue
		}
		if f := s.claim(b[:n]); f != nil {
			greeted := arrivedAt(extra[:nExtra])
			s.threads.Go(func() { s.admitDatagrams(f, greeted, from) })
		}
	}
}

// arrivedAt is the address that a datagram was sent to.
func arrivedAt(extra []byte) netip.Addr {
	messages, err := unix.ParseSocketControlMessage(extra)
	if err != nil {
		return netip.Addr{}
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= unix.SizeofInet4Pktinfo:
			return netip.AddrFrom4([4]byte(m.Data[8:12])) // struct in_pktinfo: ipi_addr
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= unix.SizeofInet6Pktinfo:
			return netip.AddrFrom16([16]byte(m.Data[:16]))
		}
	}
	return netip.Addr{}
}

// admitDatagrams gives a flow its socket and answers its client.
func (s *session) admitDatagrams(f *flow, local netip.Addr, peer unix.Sockaddr) {
	defer f.release()
	err := ownThread(f.cpu)
	if err == nil {
		err = s.openDatagrams(f, local, peer)
	}
	if err == nil {
		err = s.equip(f, f.fd)
	}
	if err != nil {
		unix.Sendto(s.listener.fd, s.answer(refused, "server: "+err.Error()), 0, peer)
		s.fail(fmt.Errorf("%s: %w", f.label, err))
		return
	}
	if err := s.attend(f); err != nil {
		s.fail(fmt.Errorf("%s: answer the client: %w", f.label, err))
		return
	}
	s.live(f)
}

func (s *session) openDatagrams(f *flow, local netip.Addr, peer unix.Sockaddr) error {
	bound, err := unix.Getsockname(s.listener.fd)
	if err != nil {
		return fmt.Errorf("get port: %w", err)
	}
	var port int
	switch sa := bound.(type) {
	case *unix.SockaddrInet4:
		port = sa.Port
	case *unix.SockaddrInet6:
		port = sa.Port
	}
	if !local.IsValid() {
		return errors.New("the kernel does not say where the greeting arrived")
	}
	addr := netip.AddrPortFrom(local, uint16(port))
	fd, sa, err := newSocket(addr, unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	f.fd = fd
	if err := s.tune(fd); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := bind(fd, sa, addr); err != nil {
		return fmt.Errorf("bind %v: %w", addr, err)
	}
	if err := unix.Connect(fd, peer); err != nil {
		return fmt.Errorf("connect to the client: %w", err)
	}
	return nil
}

func (s *session) answer(status byte, text string) []byte {
	return append(append(bytes.Clone(s.cookie), status), text...)
}

// attend answers the client's greetings until the traffic begins, or comes.
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
		if _, greeted = parseHello(b[:n], s.cookie); !greeted { // the traffic has come
			return setTimeouts(f.fd, pollInterval)
		}
		unix.Read(f.fd, b)
	}
}

// dialUDP greets the server until it answers.
func dialUDP(s *session, f *flow, spec flowSpec) error {
	fd, sa, err := newSocket(spec.To, unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	f.fd = fd
	if err := s.tune(fd); err != nil {
		return err
	}
	if err := unix.Connect(fd, sa); err != nil {
		return err
	}
	if err := s.equip(f, fd); err != nil {
		return err
	}
	if err := setTimeouts(fd, greetEvery); err != nil {
		return err
	}
	if err := s.greetDatagrams(fd, hello(s.cookie, spec.Index)); err != nil {
		return err
	}
	return setTimeouts(fd, pollInterval)
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
			return fmt.Errorf("nobody takes datagrams there: %w", err)
		case err != nil:
			if err := p.retry(err); err != nil {
				return fmt.Errorf("greet with datagrams: %w (does this network carry UDP?)", err)
			}
		case n <= cookieSize || !bytes.Equal(b[:cookieSize], s.cookie):
			return errors.New("whoever answered the datagram does not speak nettoll's protocol")
		case b[cookieSize] == welcome:
			return nil
		default:
			return errors.New(string(b[cookieSize+1 : n]))
		}
	}
}
