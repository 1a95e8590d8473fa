package engine

import (
	"time"

	"nettoll/record"
)

// datagrams counts what happened to the datagrams of the window, of one flow or of all together.
type datagrams struct {
	Expected   int64   `json:"expected"` // sent, according to their numbers
	Received   int64   `json:"received"` // without duplicates
	Lost       int64   `json:"lost"`     // on the way
	Dropped    int64   `json:"dropped"`  // by the receiver's socket, which was full
	Reordered  int64   `json:"reordered"`
	Duplicates int64   `json:"duplicates"`
	Jitter     float64 `json:"jitter_ns"`
	Jittered   int     `json:"jittered"` // flows with a jitter; Jitter is the sum of theirs
}

func (d *datagrams) add(o datagrams) {
	d.Expected += o.Expected
	d.Received += o.Received
	d.Lost += o.Lost
	d.Dropped += o.Dropped
	d.Reordered += o.Reordered
	d.Duplicates += o.Duplicates
	d.Jitter += o.Jitter
	d.Jittered += o.Jittered
}

// metrics sets the metrics of all flows together; streams have more metrics than transactions.
func (d datagrams) metrics(m map[string]record.Metric, streams bool) {
	share := func(name string, part, whole int64) {
		if whole > 0 {
			m[name] = record.Measured(name, float64(part)/float64(whole))
		}
	}
	share(record.Loss, d.Lost, d.Expected)
	if !streams {
		return
	}
	share(record.ReceiverDrops, d.Dropped, d.Expected)
	share(record.Reordering, d.Reordered, d.Received+d.Duplicates)
	share(record.Duplicates, d.Duplicates, d.Received+d.Duplicates)
	if d.Jittered > 0 {
		m[record.Jitter] = record.Measured(record.Jitter, d.Jitter/float64(d.Jittered)/float64(time.Second))
	}
}

// recent is how far back a datagram can be distinguished from its duplicate. A duplicate that comes
// later than this many datagrams is taken for the first.
const recent = 1 << 16

// tally follows the numbers of one flow's datagrams, which count from 1.
//
// The number of datagrams sent in the window is derived from the highest numbers that had been seen
// when it opened and when it closed, low and high. Those of them that did not arrive, even after
// the window, are missing. With each datagram the kernel reports how many the socket had dropped
// before it, so that drops are known for the same numbers; the others were lost on the way.
type tally struct {
	seen    [recent / 64]uint64
	highest int64
	drops   uint32 // of the socket so far, as reported with the latest datagram
	merged  bool   // drops counts batches of datagrams (UDP_GRO)

	open, shut           bool
	low, high            int64
	dropsLow, dropsHigh  uint32
	batches              int64 // read in the window
	fresh, again, behind int64 // datagrams in the window: first of their number, duplicate, and out of order
	arrived              int64 // of the numbers low+1 to high, in the window or after it

	transit        int64 // of the latest datagram, between two clocks: only differences are meaningful
	waited         int64 // from its arrival until it was read, likewise
	timed          bool
	jitter         float64 // ns, the running value of RFC 3550, section 6.4.1
	jitters        float64 // its sum over the window
	jittered       int64
	asked, unheard int64 // transactions of udp_rr, and those of them without response
	// overdue holds when those of the last transactions began that were taken to be lost, by their numbers; 0: it was not.
	overdue [lateKept]int64
}

// mark notes the state when the window opened and closed. It is called before the datagrams of a
// read at now are counted.
//
//go:nosplit
func (t *tally) mark(now, opens, closes int64) {
	if !t.open && now >= opens {
		t.open = true
		t.low, t.dropsLow = t.highest, t.drops
	}
	if t.open && !t.shut && now >= closes {
		t.shut = true
		t.high, t.dropsHigh = t.highest, t.drops
	}
}

// count records a datagram and reports whether it is the first with its number.
//
//go:nosplit
func (t *tally) count(number int64) bool {
	late := number <= t.highest
	bit := uint64(1) << (number % 64)
	word := &t.seen[number/64%int64(len(t.seen))]
	known := t.highest-number < recent // otherwise a newer number has its place
	again := late && known && *word&bit != 0
	if !late {
		t.forget(number)
		t.highest = number
	}
	if known {
		*word |= bit
	}
	if t.open && !again && number > t.low && (!t.shut || number <= t.high) {
		t.arrived++
	}
	if t.open && !t.shut {
		switch {
		case again:
			t.again++
		case late:
			t.behind++
			t.fresh++
		default:
			t.fresh++
		}
	}
	return !again
}

// forget makes room for the numbers from the highest, exclusive, to number.
//
//go:nosplit
func (t *tally) forget(number int64) {
	if number-t.highest >= recent {
		clear(t.seen[:])
		return
	}
	for n := t.highest + 1; n <= number; n++ {
		t.seen[n/64%int64(len(t.seen))] &^= 1 << (n % 64)
	}
}

// stepped is by how much, in nanoseconds, the clock of arrivals must have moved against that of reads to be taken for set. A
// reader that had to wait for a CPU for as long costs one of many differences.
const stepped = int64(5 * time.Millisecond)

// time records when a datagram was sent and when it arrived, by the clocks of the two ends, and when it was read. The kernel
// notes arrivals by the time of day, which may be set at any time: what would seem to be a difference of transit times then is none.
//
//go:nosplit
func (t *tally) time(sent, arrived, read int64) {
	transit, waited := arrived-sent, read-arrived
	if moved := waited - t.waited; t.timed && max(moved, -moved) < stepped {
		d := transit - t.transit
		t.jitter += (float64(max(d, -d)) - t.jitter) / 16
		if t.open && !t.shut {
			t.jitters += t.jitter
			t.jittered++
		}
	}
	t.transit, t.waited, t.timed = transit, waited, true
}

// figures returns the counts of the window, or nil without a tally.
func (t *tally) figures() *datagrams {
	switch {
	case t == nil:
		return nil
	case t.asked > 0:
		return &datagrams{Expected: t.asked, Received: t.asked - t.unheard, Lost: t.unheard}
	case !t.open:
		return &datagrams{}
	}
	high, drops := t.high, t.dropsHigh-t.dropsLow
	if !t.shut {
		high, drops = t.highest, t.drops-t.dropsLow
	}
	d := &datagrams{Expected: high - t.low, Received: t.fresh, Reordered: t.behind, Duplicates: t.again}
	missing := d.Expected - t.arrived
	d.Dropped = int64(drops)
	if t.merged && t.batches > 0 { // a batch that was dropped is taken to be as large as those that arrived
		d.Dropped = d.Dropped * t.fresh / t.batches
	}
	d.Dropped = min(d.Dropped, missing)
	d.Lost = missing - d.Dropped
	if t.jittered > 0 && t.fresh > 1 { // a duplicate alone makes no jitter
		d.Jitter, d.Jittered = t.jitters/float64(t.jittered), 1
	}
	return d
}
