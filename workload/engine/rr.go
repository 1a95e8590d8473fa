package engine

import (
	"syscall"

	"nettoll/record"
)

func tcpRR() traffic {
	return traffic{
		name:      record.TCPRR,
		meeting:   overTCP(),
		honours:   []string{"streams", "window", "congestion", "request-size", "response-size"},
		sizes:     requestResponse(),
		flows:     each(exchange()),
		rests:     answerRest,
		exchanged: requestAndResponse,
	}
}

// exchange makes one transaction after the other on one connection.
func exchange() kind {
	return kind{
		measured: client, counts: transactions, informs: client, noDelay: true, waits: true,
		client: newRequester, server: newResponder,
	}
}

// requestResponse returns the sizes of netperf's request/response tests, by default one byte each.
func requestResponse() []size {
	return []size{sized("request-size", 1, record.MaxMessage), sized("response-size", 1, record.MaxMessage)}
}

func newRequester(f *flow, o record.Options) (step, error) {
	f.out, f.in = payload(o.RequestSize), make([]byte, o.ResponseSize)
	f.latencies = newLatencies()
	return requestStep, nil
}

// requestStep sends (the rest of) the request, or receives (more of) the response. The last byte of
// the response ends a transaction.
//
//go:nosplit
func requestStep(f *flow) (int64, syscall.Errno) {
	if f.sent < len(f.out) {
		if f.sent == 0 {
			f.begun = nanotime()
		}
		n, errno := send(f.fd, f.out[f.sent:])
		f.sent += n
		return 0, errno
	}
	n, errno := receive(f.fd, f.in[f.got:], 0)
	f.now = nanotime()
	f.got += n
	if f.got < len(f.in) {
		return 0, errno
	}
	f.sent, f.got = 0, 0
	f.ended()
	return 1, 0
}

func newResponder(f *flow, o record.Options) (step, error) {
	f.out, f.in = payload(o.ResponseSize), make([]byte, o.RequestSize)
	f.sent = len(f.out)
	return respondStep, nil
}

// respondStep sends (the rest of) the response, or receives (more of) the next request.
//
//go:nosplit
func respondStep(f *flow) (int64, syscall.Errno) {
	if f.sent < len(f.out) {
		n, errno := send(f.fd, f.out[f.sent:])
		f.sent += n
		if f.sent < len(f.out) {
			return 0, errno
		}
		return 1, 0
	}
	n, errno := receive(f.fd, f.in[f.got:], 0)
	f.got += n
	switch {
	case f.got < len(f.in):
	case f.in[0] == bye:
		f.got, f.told = 0, true
	default:
		if f.spin > 0 {
			for until := nanotime() + f.spin; nanotime() < until; {
			}
		}
		f.sent, f.got = 0, 0
	}
	return 0, errno
}
