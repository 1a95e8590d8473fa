package engine

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// tcpCRR is a connection for each transaction, as netperf's TCP_CRR: connect,
// request, response, close. All of it is in the latency. A request begins with the
// trial's cookie, so that strangers are told without a round trip of their own.
//
// The server closes after its response, and the client, when it has that, resets:
// then neither end is left in TIME_WAIT, and ports do not run out, for which netperf
// has a range of ports of its own. While it waits for the response the client makes the next
// transaction's socket, which is not in the latency: a transaction begins when it connects.
// The connection by which a flow was made stays, and carries nothing.
//
// All flows that have come to an address of the server accept there, and serve whoever
// comes.
func tcpCRR() traffic {
	meeting := overTCP()
	meeting.brief = true
	return traffic{
		name:    record.TCPCRR,
		meeting: meeting,
		honours: []string{"streams", "window", "congestion", "request-size", "response-size"},
		options: func(o *record.Options) error {
			if err := atLeast(&o.RequestSize, cookieSize, record.MaxMessage, cookieSize, "request size"); err != nil {
				return err
			}
			o.ResponseSize = max(o.ResponseSize, 1)
			return nil
		},
		flows:     each(kind{measured: client, counts: transactions, noDelay: true, client: newCaller, server: newAcceptor}),
		exchanged: requestAndResponse,
	}
}

// brief is the connection of the transaction in hand.
type brief struct {
	fd     int // -1 is none
	next   int // the next transaction's socket; -1 is none
	phase  phase
	silent int // server: how often a wait for the request has timed out

	// Client.
	domain   uintptr
	to       []byte // struct sockaddr
	settings []setting
	// Server.
	listener int
}

type phase int

const (
	connecting phase = iota
	asking
	listening
)

// setting is an option of a socket.
type setting struct {
	level, name uintptr
	value       []byte
}

func newCaller(f *flow, o record.Options) (step, error) {
	peer, err := unix.Getpeername(f.fd)
	if err != nil {
		return nil, err
	}
	b := &brief{fd: -1, next: -1}
	b.domain, b.to = rawAddr(peer)
	timeout := unix.NsecToTimeval(int64(pollInterval))
	number := func(n int) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }
	wait := bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&timeout)), unsafe.Sizeof(timeout)))
	b.settings = []setting{
		{unix.SOL_SOCKET, unix.SO_LINGER, append(number(1), number(0)...)}, // close resets
		{unix.SOL_SOCKET, unix.SO_RCVTIMEO, wait},
		{unix.SOL_SOCKET, unix.SO_SNDTIMEO, wait},
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, number(1)},
	}
	if o.Window > 0 {
		b.settings = append(b.settings, setting{unix.SOL_SOCKET, unix.SO_SNDBUF, number(o.Window)}, setting{unix.SOL_SOCKET, unix.SO_RCVBUF, number(o.Window)})
	}
	if o.Congestion != "" {
		b.settings = append(b.settings, setting{unix.IPPROTO_TCP, unix.TCP_CONGESTION, []byte(o.Congestion)})
	}
	f.brief = b
	f.out, f.in = payload(o.RequestSize), make([]byte, o.ResponseSize)
	copy(f.out, f.session.cookie)
	f.latencies, f.connects = newLatencies(), newLatencies()
	return callStep, nil
}

// rawAddr is an address as the kernel takes it.
func rawAddr(sa unix.Sockaddr) (domain uintptr, raw []byte) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		raw = binary.BigEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, unix.AF_INET), uint16(sa.Port))
		return unix.AF_INET, append(append(raw, sa.Addr[:]...), make([]byte, 8)...)
	case *unix.SockaddrInet6:
		raw = binary.BigEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, unix.AF_INET6), uint16(sa.Port))
		raw = append(append(raw, 0, 0, 0, 0), sa.Addr[:]...)
		return unix.AF_INET6, binary.NativeEndian.AppendUint32(raw, sa.ZoneId)
	}
	return 0, nil
}

// callStep takes the transaction in hand one phase further.
//
//go:nosplit
func callStep(f *flow) (int64, syscall.Errno) {
	b := f.brief
	if b.fd < 0 {
		return 0, f.call()
	}
	if b.phase == listening && b.next < 0 {
		return 0, b.prepare(f)
	}
	switch b.phase {
	case connecting:
		f.doing = "connect"
		errno := connect(b.fd, b.to)
		if errno == unix.EINPROGRESS || errno == unix.EALREADY { // for longer than the timeout
			errno = unix.EAGAIN
		}
		if errno != 0 && errno != unix.EISCONN {
			return 0, errno
		}
		f.now = nanotime()
		if f.begun >= f.opens && f.begun < f.closes {
			f.connects.add(f.now - f.begun)
		}
		b.phase = asking
		return 0, 0
	case asking:
		f.doing = "send request"
		n, errno := send(b.fd, f.out[f.sent:])
		f.sent += n
		if f.sent == len(f.out) {
			b.phase = listening
		}
		return 0, errno
	}
	f.doing = "receive response"
	n, errno := receive(b.fd, f.in[f.got:], 0)
	f.got += n
	if f.got < len(f.in) {
		return 0, errno
	}
	closeSocket(b.fd)
	b.fd = -1
	f.now = nanotime()
	f.conns++
	f.ended()
	return 1, 0
}

// call begins a transaction, with the socket that is ready for it.
//
//go:nosplit
func (f *flow) call() (errno syscall.Errno) {
	b := f.brief
	if b.next < 0 {
		if errno = b.prepare(f); errno != 0 {
			return errno
		}
	}
	b.fd, b.next = b.next, -1
	f.sent, f.got, b.phase = 0, 0, connecting
	f.begun = nanotime()
	return 0
}

// prepare makes the next transaction's socket. It is made while a response is waited for, since a
// thread that has nothing to do sleeps, and to wake it takes longer.
//
//go:nosplit
func (b *brief) prepare(f *flow) (errno syscall.Errno) {
	f.doing = "make socket"
	if b.next, errno = streamSocket(b.domain); errno != 0 {
		return errno
	}
	f.doing = "set up socket"
	for i := range b.settings {
		s := &b.settings[i]
		if errno = setOption(b.next, s.level, s.name, s.value); errno != 0 {
			return errno
		}
	}
	return 0
}

// silence is how many waits of pollInterval a server gives whoever connects and
// says nothing.
const silence = 10

func newAcceptor(f *flow, o record.Options) (step, error) {
	f.brief = &brief{fd: -1, next: -1, listener: f.listener.fd}
	f.out, f.in = payload(o.ResponseSize), make([]byte, o.RequestSize)
	// Inherited by what is accepted.
	return acceptStep, unix.SetsockoptInt(f.brief.listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// acceptStep takes the transaction in hand one system call further. What goes wrong
// with one connection does not end the flow.
//
//go:nosplit
func acceptStep(f *flow) (n int64, errno syscall.Errno) {
	b := f.brief
	if b.fd < 0 {
		f.doing = "accept"
		f.sent, f.got, b.silent = 0, 0, 0
		if b.fd, errno = accept(b.listener); errno == unix.ECONNABORTED {
			errno = 0
		}
		return 0, errno
	}
	var some int
	if f.got < len(f.in) {
		some, errno = receive(b.fd, f.in[f.got:], 0)
		f.got += some
		if errno == unix.EAGAIN {
			b.silent++
		}
		again := errno == 0 || errno == unix.EINTR || errno == unix.EAGAIN && b.silent < silence
		if again && (f.got < len(f.in) || f.known()) {
			return 0, 0
		}
		if errno != unix.ECONNRESET { // as a client does whom the end of the trial interrupts
			f.session.strangers.Add(1)
		}
	} else {
		some, errno = send(b.fd, f.out[f.sent:])
		f.sent += some
		if f.sent < len(f.out) && (errno == 0 || errno == unix.EINTR || errno == unix.EAGAIN) {
			return 0, 0
		}
		if f.sent == len(f.out) {
			n = 1
		}
	}
	closeSocket(b.fd)
	b.fd = -1
	return n, 0
}

// known reports whether the request in hand begins with the cookie.
//
//go:nosplit
func (f *flow) known() bool {
	for i, c := range f.session.cookie {
		if f.in[i] != c {
			return false
		}
	}
	return true
}
