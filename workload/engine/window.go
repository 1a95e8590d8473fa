package engine

// partsOfWindow is the number of equal parts into which a window is cut, to show whether the
// traffic was steady from its beginning to its end.
const partsOfWindow = 10

// window is one window of a flow that is measured. Times are readings of nanotime.
type window struct {
	begins        int64 // when the flow begins, in turns for this window
	opens, closes int64
	cutAt         int64 // the next edge, or when the flow settles
	brought       int64 // when the last step returned that finished anything
	// marks are how much the flow had finished, since its connection was made, at the edges of the
	// parts; next is the index of the next edge.
	marks [partsOfWindow + 1]float64
	next  int
	// before is how much had been finished by steps that returned before the window opened. rested
	// is whether a sender has sent anything since it should rest; see flow.done.
	before int64
	rested bool
	stale  int64 // bytes that arrived in the window and may have been in the socket before; see settle
	silent bool  // nothing arrived while the window was open, apart from stale bytes
	// entered is whether the turn has begun, and from is how much the flow had finished by then.
	entered bool
	from    int64
	mute    bool // nothing arrived after the window either

	covered    int64 // ns of the window in which a transaction that counts was under way
	unfinished int64 // transactions that count and had not ended
}

// edge returns when a part begins; the edge after the last part is the window's end.
func (w *window) edge(part int) int64 {
	return w.opens + (w.closes-w.opens)*int64(part)/partsOfWindow
}

// inside returns how much the flow finished within the window, and parts how much within each part.
func (w *window) inside() float64 { return w.marks[partsOfWindow] - w.marks[0] }

func (w *window) parts() []float64 {
	all := make([]float64, partsOfWindow)
	for i := range all {
		all[i] = w.marks[i+1] - w.marks[i]
	}
	return all
}

// cut is called after every step that returns at or after the next edge, before its result n is
// counted.
//
// The result of a step is taken to have accumulated evenly since the previous step that brought
// anything. So a flow whose thread, or whose peer's thread, waited for a CPU for longer than the
// window lasts counts as a slow flow and not as zero; and a read that lies across an edge is
// divided between both sides of it.
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
			if f.now >= f.cutAt { // the beginning of the next turn
				if brought > 0 && f.latencies != nil {
					f.ended() // for that turn's window
				}
				f.cut(brought)
			}
			return
		}
		f.next++
	}
}

// share returns the fraction of the current step's result that had accumulated by an edge.
func (f *flow) share(edge int64) float64 {
	since := max(f.brought, f.begins) // not since the previous turn
	took := f.now - since
	if took <= 0 {
		return 0
	}
	return float64(max(0, edge-since)) / float64(took)
}

// heard returns how much has arrived since the window opened, without bytes that may have been sent
// before it.
func (f *flow) heard() int64 { return f.total - f.before - f.stale }

// ends reports whether the window can be closed by a step that brought nothing: only that of a flow
// that received something while it was open, or that has no transaction due. Others are waited for;
// see session.start.
func (f *flow) ends() bool {
	switch {
	case f.now < f.closes:
		return false
	case f.counts == payloadBytes:
		return f.session.inTurns || f.next > 0 && f.heard() > 0
	}
	return f.open && f.sent == 0
}

// ended records the transaction that began at f.begun and ended at f.now.
//
// Transactions that began in the window count, whenever they end: whether one counts does not
// depend on how long it takes. One that began before the window and ended after it counts too, as
// the only one of its flow: it took at least as long as the window. In turns it counts once, however
// many windows it covers. Requests that were due before the window do not: of a paced flow, those
// that were due in it count, see overdue.
//
//go:nosplit
func (f *flow) ended() {
	if f.begun >= f.closes || f.begun < f.opens && (f.now < f.closes || f.open) || f.closed.Load() {
		return
	}
	if f.begun != f.recorded {
		f.latencies.add(f.now - f.begun)
	}
	if f.turn >= f.session.cold {
		f.recorded = f.begun
	}
	f.covered += min(f.now, f.closes) - max(f.begun, f.opens) // meaningless for an open loop
}

// close ends the window of the flow.
func (f *flow) close(n int64) {
	f.cutAt = never
	if f.open {
		f.overdue()
	}
	if n > 0 && f.latencies != nil && f.begun >= f.closes && f.latencies.none() {
		// The thread had no CPU between two transactions, for all of the window. This is the next
		// one. It says little about the window, which the record shows: no time is covered.
		f.latencies.add(f.now - f.begun)
	}
	if f.passed() {
		return
	}
	f.closed.Store(true)
	f.session.flowClosed()
}

// overdue counts the requests of a paced flow that were due in the window and have not been sent:
// they take at least as long as they have waited so far.
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

// abandon ends the window of a flow that makes no more steps, if it is open. A transaction that is
// under way took at least as long as it has lasted.
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
		if f.begun != f.recorded { // in turns it counts once, as one that ended
			f.latencies.add(f.now - f.begun)
			f.unfinished++
		}
		if f.turn >= f.session.cold {
			f.recorded = f.begun
		}
		f.covered += max(0, min(f.now, f.closes)-max(f.begun, f.opens))
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
