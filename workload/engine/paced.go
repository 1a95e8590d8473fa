package engine

import (
	"cmp"
	"syscall"

	"nettoll/record"
)

// pacedRR makes transactions that are due at equal intervals, whether or not the network keeps up:
// an open loop. Each flow makes one at a time on one connection. A request that becomes due while
// another waits for its response is sent right after that response, and its latency counts from
// when it was due, as in wrk2: a stall delays all requests that would have come meanwhile.
// Transactions that were due in the window count; those that have not been sent when the one in
// progress at its end is answered took at least as long as they had waited by then. A thread that
// sleeps until a request is due wakes some microseconds later, which count as well.
func pacedRR() traffic {
	exchange := exchange()
	exchange.client, exchange.open = newPacedRequester, true
	return traffic{
		name:      record.PacedRR,
		meeting:   overTCP(),
		honours:   []string{"streams", "window", "congestion", "request-size", "response-size", "rate"},
		sizes:     requestResponse(),
		options:   func(o *record.Options) { o.Rate = cmp.Or(o.Rate, record.DefaultRate) },
		flows:     each(exchange),
		rests:     answerRest,
		exchanged: requestAndResponse,
	}
}

func newPacedRequester(f *flow, o record.Options) (step, error) {
	f.pace.every = 1e9 / float64(o.Rate)
	if _, err := newRequester(f, o); err != nil {
		return nil, err
	}
	return pacedStep, nil
}

// pacedStep sleeps until the next request is due, or does the same as requestStep. Requests are
// numbered by f.number.
//
//go:nosplit
func pacedStep(f *flow) (int64, syscall.Errno) {
	if f.sent > 0 {
		return requestStep(f)
	}
	f.pace.begins = f.begins
	due := f.pace.due(f.number)
	if nanotime() < due {
		sleepTo(due)
		f.now = nanotime()
		return 0, 0
	}
	_, errno := requestStep(f)
	if f.sent > 0 {
		f.number++
	}
	f.begun = due
	return 0, errno
}
