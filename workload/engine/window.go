package engine

// partsOfWindow is into how many equal parts a window is cut, so that it can be seen
// whether what it held was the same from its beginning to its end.
const partsOfWindow = 10

// window is one window of a flow that is measured. Times are those of nanotime.
type window struct {
	opens, closes int64
	cutAt         int64 // the edge that comes next, or when the flow settles
	brought       int64 // when the last step returned that finished anything
	// marks are what the flow had finished, since its connection was made, at the edges
	// of the parts; next is which of them comes next.
	marks [partsOfWindow + 1]float64
	next  int
	// before is how much steps had brought that returned before the window opened, and
	// rested whether the flow, as a sender, sent anything when all should rest.
	before int64
	rested bool
	stale  int64 // bytes that came in the window and may have lain in the socket before; see settle
	silent bool  // nothing came while the window was open but for those
	// entered says that the turn has begun, and from what the flow had finished by then.
	entered bool
	from    int64
	mute    bool // nor after it

	covered    int64 // ns of the window in which a transaction was under way that counts
	unfinished int64 // transactions that count and had not ended
}

// edge is the beginning of a part, and of the one after the last the window's end.
func (w *window) edge(part int) int64 {
	return w.opens + (w.closes-w.opens)*int64(part)/partsOfWindow
}

// inside is what the flow finished within the window, and parts what within its parts.
func (w *window) inside() float64 { return w.marks[partsOfWindow] - w.marks[0] }

func (w *window) parts() (all [partsOfWindow]float64) {
	for i := range all {
		all[i] = w.marks[i+1] - w.marks[i]
	}
	return all
}

// cut is called by every step that returns at or after the edge that comes next, before
// what it brought is counted: n.
//
// What a step brings is taken to have come about evenly since the one before it that
// brought anything. So a flow whose thread, or whose peer's, waited for a CPU for longer
// than the window lasts is a slow flow, and not one of nothing; and a read that lies
// across an edge is shared out between both sides of it.
func (f *flow) cut(n int64) {
	if f.session.inTurns && !f.entered && f.now >= f.cutAt {
		f.enter()
	}
	if f.patient && f.now >= f.cutAt && f.cutAt == f.settles {
		f.patient = false
		f.settle()
		f.cutAt = f.opens
	}
	if f.now < f.cutAt || n == 0 && !f.ends() {
		return
	}
	brought := n
	if f.isNext() {
		n = 0
	}
	for ; f.now >= f.cutAt; f.cutAt = f.edge(f.next) {
		if f.next == 0 {
			f.before, f.stale = f.total, 0
		}
		f.marks[f.next] = float64(f.total) + float64(n)*f.share(f.cutAt)
		if f.next == partsOfWindow {
			f.silent = f.heard() == 0
			f.close(n)
			if f.now >= f.cutAt { // the next turn's begin
				if brought > 0 && f.latencies != nil {
					f.ended() // as far as that turn is concerned
				}
				f.cut(brought)
			}
			return
		}
		f.next++
	}
}

// share is how much of what the step in hand brought had come about by an edge.
func (f *flow) share(edge int64) float64 {
	since := max(f.brought, f.begins) // and not since the turn before
	took := f.now - since
	if took <= 0 {
		return 0
	}
	return float64(max(0, edge-since)) / float64(took)
}

// heard is what has come since the window opened, and was sent in it as far as can be known.
func (f *flow) heard() int64 { return f.total - f.before - f.stale }

// ends reports whether the window can be closed by a step that brought nothing: of a flow
// that received something while it was open, or that has no transaction due. Any other
// is waited for; see session.start.
func (f *flow) ends() bool {
	switch {
	case f.now < f.closes:
		return false
	case f.counts == payloadBytes:
		return f.session.inTurns || f.next > 0 && f.heard() > 0
	}
	return f.open && f.sent == 0
}

// ended takes in the transaction that began at f.begun and ended at f.now.
//
// Those count that began in the window, whenever they end: whether one counts does not
// depend on how long it takes. One that began before the window and ended after it counts
// too, as the only one of its flow: it took at least as long as the window.
//
//go:nosplit
func (f *flow) ended() {
	if f.begun >= f.closes || f.begun < f.opens && f.now < f.closes || f.closed.Load() {
		return
	}
	f.latencies.add(f.now - f.begun)
	f.covered += min(f.now, f.closes) - max(f.begun, f.opens) // of an open loop it says nothing
}

// close ends the window of the flow.
func (f *flow) close(n int64) {
	f.cutAt = never
	if f.open {
		f.overdue()
	}
	if n > 0 && f.latencies != nil && f.begun >= f.closes && f.latencies.none() {
		// The thread had no CPU between two transactions, for all of the window. This is
		// the next one; that it says little shows in what is covered.
		f.latencies.add(f.now - f.begun)
	}
	if f.passed() {
		return
	}
	f.closed.Store(true)
	f.session.flowClosed()
}

// overdue counts the requests of a paced flow that were due in the window and have not
// been sent: they take at least as long as they have waited so far.
func (f *flow) overdue() {
	f.pace.begins = f.begins
	first, behind := max(f.number, f.pace.by(f.opens-1)), f.pace.by(f.closes-1)
	f.unfinished += max(0, behind-first)
	for first < behind { // all that fall into one slot of the histogram at once
		age := min(highestLatency, max(0, f.now-f.pace.due(first)))
		same := max(1, min(behind, f.pace.by(f.now-lowest(slot(age))))-first)
		f.latencies.counts[slot(age)] += same
		first += same
	}
}

// abandon ends the window of a flow that makes no more steps, if it is open. A
// transaction that is under way took at least as long as it has lasted.
func (f *flow) abandon() {
	if !f.measures() || f.closed.Load() {
		return
	}
	f.now = nanotime()
	if f.session.inTurns && !f.entered {
		f.enter()
	}
	f.mute = f.next == 0 || f.heard() == 0
	underway := f.sent > 0 || !f.open && f.begun >= f.brought
	if f.latencies != nil && underway && f.begun < f.closes && f.now >= f.opens {
		f.latencies.add(f.now - f.begun)
		f.covered += max(0, min(f.now, f.closes)-max(f.begun, f.opens))
		f.unfinished++
	}
	if f.next == 0 {
		f.before, f.stale = f.total, 0
	}
	for ; f.next <= partsOfWindow; f.next++ {
		f.marks[f.next] = float64(f.total)
	}
	f.silent = f.heard() == 0
	f.close(0)
}
