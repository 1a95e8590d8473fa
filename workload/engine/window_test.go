package engine

import (
	"math"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// measured returns a flow that begins at 0 and has a window from 1000 to 2000.
func measured(k kind) *flow {
	s := &session{role: k.measured, closed: make(chan struct{})}
	s.open.Store(1)
	f := &flow{kind: k, session: s, fd: -1, file: -1}
	if k.counts == transactions {
		f.latencies = newLatencies()
	}
	f.schedule(1000, 1000, 2000)
	return f
}

// stepTo makes a step of flow.run return n at the given time.
func stepTo(f *flow, at, n int64) {
	f.now = at
	f.account(n)
}

// exchangeTo makes a transaction with the given times.
func exchangeTo(f *flow, begins, ends int64) {
	f.begun, f.now = begins, ends
	f.ended()
	stepTo(f, ends, 1)
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*max(1, math.Abs(b)) }

// TestReadsAcrossEdgesAreShared checks that a read that lies across an edge counts on both sides of
// it.
func TestReadsAcrossEdgesAreShared(t *testing.T) {
	f := measured(upload())
	stepTo(f, 900, 7)
	stepTo(f, 1100, 200) // half of it before the window
	stepTo(f, 1500, 400) // evenly over four parts
	stepTo(f, 1900, 40)
	stepTo(f, 2300, 400) // a quarter of it within the window
	if f.inside() != 100+400+40+100 || !f.closed.Load() || f.silent {
		t.Errorf("%v within the window, closed %v, silent %v", f.inside(), f.closed.Load(), f.silent)
	}
	want := [partsOfWindow]float64{100, 100, 100, 100, 100, 10, 10, 10, 10, 100}
	for i, n := range f.parts() {
		if !near(n, want[i]) {
			t.Errorf("parts are %v, want %v", f.parts(), want)
			break
		}
	}
}

// TestFlowsThatHadNoCPUAreSlow has flows whose thread, or whose peer's thread, did not run for
// longer than the window.
func TestFlowsThatHadNoCPUAreSlow(t *testing.T) {
	f := measured(upload())
	stepTo(f, 900, 7)
	stepTo(f, 2500, 1600)
	if !near(f.inside(), 1000) || !f.silent || !f.closed.Load() {
		t.Errorf("receiver: %v within the window, silent %v, closed %v", f.inside(), f.silent, f.closed.Load())
	}

	f = measured(upload())
	stepTo(f, 900, 7)
	stepTo(f, 1400, 0) // wakes after pollInterval and finds nothing
	stepTo(f, 2400, 0)
	if f.closed.Load() {
		t.Fatal("sender: nothing came, and it was not waited for")
	}
	stepTo(f, 2500, 1600)
	if !near(f.inside(), 1000) || !f.silent || !f.closed.Load() {
		t.Errorf("sender: %v within the window, silent %v, closed %v", f.inside(), f.silent, f.closed.Load())
	}

	f = measured(upload())
	stepTo(f, 1400, 14)
	stepTo(f, 2100, 0)
	if !near(f.inside(), 4) || f.silent || !f.closed.Load() {
		t.Errorf("stalled: %v within the window, silent %v, closed %v", f.inside(), f.silent, f.closed.Load())
	}

	f = measured(exchange())
	exchangeTo(f, 900, 2500)
	if f.latencies.count() != 1 || f.latencies.counts[slot(1600)] != 1 || f.covered != 1000 || !near(f.inside(), 1000.0/2500) || !f.silent {
		t.Errorf("transaction: %d counted, %d ns covered, %v within the window, silent %v", f.latencies.count(), f.covered, f.inside(), f.silent)
	}

	f = measured(exchange())
	exchangeTo(f, 900, 990)
	exchangeTo(f, 2500, 2510)
	if f.latencies.count() != 1 || f.covered != 0 || !f.closed.Load() {
		t.Errorf("between two transactions: %d counted, %d ns covered, closed %v", f.latencies.count(), f.covered, f.closed.Load())
	}
}

// TestRemainderIsNoSignOfLife has a sender that comes to a halt before the window, while its
// receiver waits for more.
func TestRemainderIsNoSignOfLife(t *testing.T) {
	for _, c := range []struct {
		name   string
		reads  []int64 // starting before the window, each 300 after the last; less than 100 is a remainder
		silent bool
	}{
		{"nothing more comes", []int64{100, 100, 30}, true},
		{"less than what is waited for keeps coming", []int64{100, 100, 30, 30}, false},
		{"it goes on", []int64{100, 100, 30, 100}, false},
		{"it came to a halt before", []int64{100, 30, 0, 0}, true},
	} {
		f := measured(upload())
		f.lowat = 100
		at := int64(600)
		for _, n := range append(c.reads, 0, 0, 0, 0) {
			f.remainder = n < int64(f.lowat)
			stepTo(f, at, n)
			at += 300
		}
		closed := f.closed.Load()
		if f.abandon(); closed == c.silent || f.mute != c.silent {
			t.Errorf("%s: closed %v, mute %v", c.name, closed, f.mute)
		}
	}
}

// TestLengthDoesNotDecideWhetherATransactionCounts has a stall at one of 1000 positions among
// transactions of 10 ns, 100 of which fit in the window: a stall no longer than the window counts
// at 100 of these positions, whatever its length.
func TestLengthDoesNotDecideWhetherATransactionCounts(t *testing.T) {
	for _, stall := range []int64{10, 100, 500, 990, 1000} {
		counted := 0
		for at := int64(0); at < 10_000; at += 10 {
			f := measured(exchange())
			for now := int64(-8000); !f.closed.Load(); {
				length := int64(10)
				if now == at-8000 {
					length = stall
				}
				exchangeTo(f, now, now+length)
				now += length
			}
			if stall > 10 && f.latencies.counts[slot(stall)] > 0 {
				counted++
			}
			if stall == 10 && f.latencies.count() != 100 {
				t.Fatalf("%d transactions counted of 100", f.latencies.count())
			}
		}
		if stall > 10 && counted != 100 {
			t.Errorf("a stall of %d ns counts in %d places of 1000, want 100", stall, counted)
		}
	}
}

// TestUnfinishedTransactionsCountWithTheirAge ends flows in the middle of a transaction.
func TestUnfinishedTransactionsCountWithTheirAge(t *testing.T) {
	now := nanotime()
	for sent := range 2 { // bytes of the request: none while a connection for it is made
		f := measured(exchange())
		f.schedule(int64(time.Second), now-int64(2*time.Second), now-int64(time.Second))
		exchangeTo(f, now-int64(2200*time.Millisecond), now-int64(1900*time.Millisecond))
		f.begun, f.sent = now-int64(1500*time.Millisecond), sent
		f.abandon()
		if f.latencies.count() != 1 || f.unfinished != 1 || f.mute || f.covered != int64(500*time.Millisecond) {
			t.Errorf("%d counted, %d unfinished, mute %v, %v covered", f.latencies.count(), f.unfinished, f.mute, time.Duration(f.covered))
		}
		if most := f.latencies.histogram().Max(); most < int64(1500*time.Millisecond) {
			t.Errorf("counts with %v, has lasted 1.5s", time.Duration(most))
		}
	}

	f := measured(exchange())
	f.schedule(int64(time.Second), now-int64(2*time.Second), now-int64(time.Second))
	f.abandon()
	if !f.mute || !f.silent || f.latencies.count() != 0 || !f.closed.Load() {
		t.Errorf("nothing at all: mute %v, silent %v, %d counted", f.mute, f.silent, f.latencies.count())
	}
}

// paced returns a flow of paced_rr with a request due every 10 ns.
func paced(t *testing.T) *flow {
	t.Helper()
	k := exchange()
	k.client, k.open = newPacedRequester, true
	f := measured(k)
	_, err := newPacedRequester(f, record.Options{RequestSize: 1, ResponseSize: 1, Rate: 1e8})
	iferr.Fatal(t, err)
	f.pace.begins = f.begins
	return f
}

// TestOverdueRequestsCount has a paced flow that is stuck from 1500 on: of the requests that are
// due every 10 ns, all in the window count, each once.
func TestOverdueRequestsCount(t *testing.T) {
	f := paced(t)
	for n, end := int64(0), int64(0); end < 3000; n++ {
		due := f.pace.due(n)
		end = due + 2
		if due == 1500 {
			end = 3000
		}
		f.number = n + 1
		exchangeTo(f, due, end)
	}
	if f.latencies.count() != 100 || f.unfinished != 49 {
		t.Fatalf("%d of 100 counted, %d of them unfinished, want 49", f.latencies.count(), f.unfinished)
	}
	want := newLatencies()
	for n := int64(100); n < 150; n++ {
		want.add(2)
	}
	for n := int64(150); n < 200; n++ {
		want.add(3000 - f.pace.due(n))
	}
	for i, n := range want.counts {
		if f.latencies.counts[i] != n {
			t.Errorf("%d of %d ns, want %d", f.latencies.counts[i], lowest(i), n)
		}
	}
}

// TestRequestDueBeforeTheWindow checks that only requests count that were due in it, even if one from before was under way all the time.
func TestRequestDueBeforeTheWindow(t *testing.T) {
	for _, number := range []int64{100, 50} { // of the next one
		f := paced(t)
		f.number = number
		exchangeTo(f, f.pace.due(number-1), 2500)
		if f.latencies.count() != 100 || f.unfinished != 100 {
			t.Errorf("%d counted, %d of them unfinished, want the 100 that were due", f.latencies.count(), f.unfinished)
		}
	}
}

func TestLowestOfASlot(t *testing.T) {
	for _, ns := range []int64{0, 1, 2047, 2048, 2049, 4095, 4096, 1e6, 123_456_789, highestLatency} {
		low := lowest(slot(ns))
		if low > ns || slot(low) != slot(ns) || low > 0 && slot(low-1) == slot(ns) {
			t.Errorf("%d ns are in slot %d, which begins at %d", ns, slot(ns), low)
		}
	}
}
