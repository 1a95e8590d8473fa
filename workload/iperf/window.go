package iperf

import "fmt"

// figures is what a flow did in the window.
type figures struct {
	bytes, lost, sent, received, retransmits uint64
	jitter                                   float64 // ms, in the last interval
	last                                     interval
	all                                      uint64 // bytes before the window, too
}

// cut sums the intervals of a second from lead up to its end, which must all be
// there. Sums over longer times, which the program prints at the end, are no
// intervals.
func cut(intervals []interval, lead, window int) (f figures, err error) {
	next := 0
	for _, v := range intervals {
		if v.start != float64(next) || v.end != float64(next+1) || next >= lead+window {
			continue
		}
		next++
		f.all += v.bytes
		if next <= lead {
			continue
		}
		f.bytes += v.bytes
		f.lost += v.lost
		f.sent += v.sent
		f.received += v.received
		f.retransmits += v.retransmits
		f.jitter, f.last = v.jitter, v
	}
	if next < lead+window {
		return f, fmt.Errorf("no interval from %d to %d s", next, next+1)
	}
	return f, nil
}
