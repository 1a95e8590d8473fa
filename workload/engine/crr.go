package engine

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// tcpCRR makes a connection for each transaction, like netperf's TCP_CRR: connect, request,
// response, close. The latency includes all of these. A request begins with the trial's cookie, so
// that strangers are recognized without an extra round trip.
//
// The server closes after its response, and the client resets when it has received that: then
// neither end is left in TIME_WAIT, and ports do not run out, a problem that netperf solves with a
// port range of its own. It does not wait for the server's close, as netperf's client does. While it waits for the response, the client makes the next transaction's
// socket, which is not in the latency: a transaction begins when it connects. The connection by
// which a flow was made stays open, and carries nothing.
//
// All flows whose clients came to the same address of the server accept there, and serve any
// client.
func tcpCRR() traffic {
	meeting := overTCP()
	meeting.brief = true
	return traffic{
		name:      record.TCPCRR,
		meeting:   meeting,
		honours:   []string{"streams", "window", "congestion", "request-size", "response-size"},
		sizes:     []size{sized("request-size", cookieSize, record.MaxMessage), sized("response-size", 1, record.MaxMessage)},
		flows:     each(kind{measured: client, counts: transactions, noDelay: true, client: newCaller, server: newAcceptor}),
		exchanged: requestAndResponse,
	}
}

// brief is the connection of the transaction in progress.
type brief struct {
	fd     int // -1 is none
	next   int // socket of the next transaction; -1 is none
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

// rawAddr returns an address in the kernel's representation.
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

// callStep advances the transaction in progress by one phase.
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
		if errno == unix.EINPROGRESS || errno == unix.EALREADY { // not connected within the socket's timeout
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

// call begins a transaction, with the socket prepared for it.
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

// prepare makes the next transaction's socket. It does so while waiting for a response: an idle
// thread would sleep, and waking it takes longer.
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

// silence is for how many waits of pollInterval a server, which has one connection at a time, tolerates a client that
// connects and sends nothing.
const silence = int(5 * time.Second / pollInterval)

func newAcceptor(f *flow, o record.Options) (step, error) {
	f.brief = &brief{fd: -1, next: -1, listener: f.listener.fd}
	f.out, f.in = payload(o.ResponseSize), make([]byte, o.RequestSize)
	// Accepted connections inherit it.
	return acceptStep, unix.SetsockoptInt(f.brief.listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// acceptStep advances the transaction in progress by one system call. The failure of one connection
// does not end the flow.
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
		if errno != unix.ECONNRESET { // a client resets when the end of the trial interrupts it
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

// known reports whether the request in progress begins with the cookie.
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
