package engine

import (
	"encoding/binary"
	"syscall"

	"nettoll/record"
)

// exchangeHeader is the size in bytes of the beginning of requests and responses: the second half of
// the trial's cookie and the number of the transaction, 8 bytes each.
const exchangeHeader = 16

// lossTimeout is how long a response may take, or twice as long as the fastest answer to a greeting took, if
// that is longer. After that the transaction is taken to be lost, and the next begins; if its response comes while
// one of the next lateKept is under way, it was not lost. It is less than pollInterval, since a wait may end a little early.
const lossTimeout = pollInterval * 9 / 10

// lateKept is for how many transactions a late response is waited for.
const lateKept = 8

// udpRR makes one transaction after the other in datagrams, like netperf's UDP_RR, which however
// stops at a lost datagram. Lost transactions are in the loss and not in the latencies.
func udpRR() traffic {
	return traffic{
		name:      record.UDPRR,
		meeting:   overUDP(),
		honours:   []string{"streams", "window", "request-size", "response-size"},
		sizes:     []size{sized("request-size", exchangeHeader, record.MaxDatagram), sized("response-size", exchangeHeader, record.MaxDatagram)},
		flows:     each(kind{measured: client, counts: transactions, client: newAsker, server: newAnswerer}),
		exchanged: requestAndResponse,
	}
}

func newAsker(f *flow, o record.Options) (step, error) {
	f.out, f.in = payload(o.RequestSize), make([]byte, o.ResponseSize)
	copy(f.out, f.session.cookie[cookieSize/2:])
	f.latencies, f.tally = newLatencies(), &tally{}
	return askStep, nil
}

// askStep sends a request, or receives a datagram. A transaction ends with its response, or when it is
// lost. Transactions are numbered by f.number.
//
//go:nosplit
func askStep(f *flow) (int64, syscall.Errno) {
	if f.sent == 0 {
		f.number++
		f.tally.overdue[f.number%lateKept] = 0
		binary.BigEndian.PutUint64(f.out[8:], uint64(f.number))
		f.begun = nanotime()
		var errno syscall.Errno
		f.sent, errno = send(f.fd, f.out)
		return 0, errno
	}
	n, errno := receive(f.fd, f.in, 0)
	f.now = nanotime()
	answered := errno == 0 && n >= exchangeHeader && sameHeader(f.in, f.out)
	if !answered && errno == 0 && n >= exchangeHeader && f.answersLate() {
		return 1, 0
	}
	if !answered && f.now-f.begun < f.patience() {
		if errno == hungUp { // a datagram without payload
			errno = 0
		}
		return 0, errno
	}
	f.sent = 0
	if f.begun >= f.opens && f.begun < f.closes {
		f.tally.asked++
		if !answered {
			f.tally.unheard++
			f.tally.overdue[f.number%lateKept] = f.begun
		}
	}
	if !answered {
		return 0, 0
	}
	f.ended()
	return 1, 0
}

// patience is how long a response is waited for, in ns.
//
//go:nosplit
func (f *flow) patience() int64 { return max(int64(lossTimeout), 2*f.session.fastest) }

// answersLate reports whether the datagram received answers a transaction that was taken to be lost, and began in a window. That one
// counts then: an end that waited for a CPU was slow, and nothing was lost on the way.
//
//go:nosplit
func (f *flow) answersLate() bool {
	number := int64(binary.BigEndian.Uint64(f.in[8:]))
	if binary.BigEndian.Uint64(f.in) != binary.BigEndian.Uint64(f.out) || number < 1 || number >= f.number || number <= f.number-lateKept {
		return false
	}
	begun := f.tally.overdue[number%lateKept]
	if begun == 0 {
		return false
	}
	f.tally.overdue[number%lateKept] = 0
	f.tally.unheard--
	if !f.closed.Load() {
		f.latencies.add(f.now - begun)
		f.covered += max(0, min(begun+f.patience(), f.closes)-max(begun, f.opens)) // until the next transaction began
	}
	return true
}

//go:nosplit
func sameHeader(a, b []byte) bool {
	return binary.BigEndian.Uint64(a) == binary.BigEndian.Uint64(b) &&
		binary.BigEndian.Uint64(a[8:]) == binary.BigEndian.Uint64(b[8:])
}

func newAnswerer(f *flow, o record.Options) (step, error) {
	f.out, f.in = payload(o.ResponseSize), make([]byte, o.RequestSize)
	copy(f.out, f.session.cookie[cookieSize/2:])
	return answerStep, nil
}

// answerStep receives a request, or sends the response to it.
//
//go:nosplit
func answerStep(f *flow) (int64, syscall.Errno) {
	if f.got > 0 {
		f.got = 0
		_, errno := send(f.fd, f.out)
		return 1, errno
	}
	n, errno := receive(f.fd, f.in, 0)
	if errno == hungUp {
		return 0, 0
	}
	if errno == 0 && n >= exchangeHeader && binary.BigEndian.Uint64(f.in) == binary.BigEndian.Uint64(f.out) {
		copy(f.out[8:exchangeHeader], f.in[8:exchangeHeader])
		f.got = n
	}
	return 0, errno
}
