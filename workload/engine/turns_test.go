package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/internal/wrap"
	"nettoll/record"
	"nettoll/workload"
)

// inTurns returns a flow with windows from 1000 to 2000, from 12000 to 13000 and from 22000 to
// 23000, whose turns begin 1000 before.
func inTurns(k kind) *flow {
	s := &session{role: k.measured, closed: make(chan struct{}), inTurns: true, cold: 1, quit: make(chan struct{})}
	s.open.Store(1)
	s.turns = []turn{{0, 1000, 2000}, {11000, 12000, 13000}, {21000, 22000, 23000}}
	f := &flow{kind: k, session: s, fd: -1, file: -1}
	if k.counts == transactions {
		f.latencies = newLatencies()
	}
	f.prepare()
	return f
}

// TestWindowsOfTurns has a stream that drains after each window, and falls silent in the second.
func TestWindowsOfTurns(t *testing.T) {
	f := inTurns(upload())
	stepTo(f, 500, 50)
	stepTo(f, 1000, 50)
	stepTo(f, 1500, 500)
	stepTo(f, 2100, 600) // five sixths of it within the window
	stepTo(f, 2200, 7)   // drained data
	stepTo(f, 11500, 1)
	stepTo(f, 14000, 0)   // nobody sends any more
	stepTo(f, 21500, 100) // in the third turn
	stepTo(f, 22500, 1000)
	stepTo(f, 23500, 1000)
	stepTo(f, 23600, 3)
	if !f.closed.Load() || len(f.past) != 3 {
		t.Fatalf("closed: %v, windows: %d", f.closed.Load(), len(f.past))
	}
	for i, want := range []struct {
		inside float64
		from   int64
		silent bool
	}{{1000, 0, false}, {0, 1207, true}, {1000, 1208, false}} {
		w := f.past[i]
		if !near(w.inside(), want.inside) || w.from != want.from || w.silent != want.silent {
			t.Errorf("turn %d: %v in the window, from %d, silent: %v; want %+v", i+1, w.inside(), w.from, w.silent, want)
		}
	}
}

// TestFirstReadOfATurnClosesTheWindowBefore checks that a window in which nothing came takes
// nothing of what comes in the next turn.
func TestFirstReadOfATurnClosesTheWindowBefore(t *testing.T) {
	f := inTurns(upload())
	stepTo(f, 500, 5)
	stepTo(f, 11900, 100)
	stepTo(f, 12500, 600) // 500 of them in the window
	stepTo(f, 13100, 600)
	if w := f.past[0]; w.inside() != 0 || !w.silent {
		t.Errorf("%v in the silent window, silent: %v", w.inside(), w.silent)
	}
	if w := f.past[1]; !near(w.inside(), 1000) || w.silent || w.from != 5 {
		t.Errorf("%v in the window after it, silent: %v, from %d", w.inside(), w.silent, w.from)
	}
}

// TestFirstReadOfATurnAfterItsWindowOpened checks that what such a read brings has come since the turn began, whether or not it also
// closes the window before.
func TestFirstReadOfATurnAfterItsWindowOpened(t *testing.T) {
	for _, silent := range []bool{false, true} {
		f := inTurns(upload())
		stepTo(f, 500, 5)
		if !silent {
			stepTo(f, 1500, 500)
			stepTo(f, 2100, 600)
		}
		stepTo(f, 12500, 1500) // 500 of them in the window
		stepTo(f, 13100, 600)  // likewise
		if w := f.past[0]; w.silent != silent || silent && w.inside() != 0 {
			t.Errorf("%v in the first window, silent: %v", w.inside(), w.silent)
		}
		if w := f.past[1]; !near(w.inside(), 1000) || w.silent {
			t.Errorf("after a window that is silent (%v): %v in the next, silent: %v", silent, w.inside(), w.silent)
		}
	}
}

// TestColdTurns has streams and transactions that are too late for a window, in one of three turns.
func TestColdTurns(t *testing.T) {
	for _, k := range []kind{upload(), exchange()} {
		for late := range 3 {
			f := inTurns(k)
			f.session.flows = []*flow{f}
			for i, turn := range f.session.turns {
				if i != late {
					stepTo(f, turn.opens-500, 1)
				}
				stepTo(f, turn.opens+500, 1)
				stepTo(f, turn.closes+100, 1)
			}
			for i := range f.session.turns {
				r, err := f.session.windowResult(func(f *flow) (*window, *latencies) { return &f.past[i], nil })
				want := 0
				if i == late {
					want = 1
				}
				if err != nil || r.Cold != want {
					t.Errorf("turn %d is late: in turn %d %d flows are cold, error %v", late+1, i+1, r.Cold, err)
				}
			}
		}
	}
}

// TestTransactionThatNeverEnds checks that it counts once, in the first of its windows that counts.
func TestTransactionThatNeverEnds(t *testing.T) {
	f := inTurns(exchange())
	exchangeTo(f, 500, 900)
	f.begun, f.sent = 1100, 1
	for len(f.past) < 3 {
		f.abandon()
	}
	got := record.Each(f.past, func(w window) int64 { return w.unfinished })
	if f.counted.count() != 1 || !slices.Equal(got, []int64{1, 1, 0}) {
		t.Errorf("%d counted; %v unfinished in the turns", f.counted.count(), got)
	}
}

// TestTransactionsOfTurns checks that each window has the transactions that begin in it, including
// one that ends late.
func TestTransactionsOfTurns(t *testing.T) {
	f := inTurns(exchange())
	exchangeTo(f, 500, 900)
	exchangeTo(f, 1100, 1200)
	exchangeTo(f, 1300, 12500) // stalls into the second window
	for at := int64(12600); at < 13100; at += 100 {
		exchangeTo(f, at, at+50)
	}
	exchangeTo(f, 21500, 23100)
	exchangeTo(f, 23200, 23300)
	if cold, counted := f.cold.count(), f.counted.count(); cold != 2 || counted != 4+1 {
		t.Errorf("the cold turn has %d transactions, and the others %d; want 2 and 4+1", cold, counted)
	}
	if w := f.past[1]; w.covered != 4*50 {
		t.Errorf("%d of the second window is covered", w.covered)
	}
	if !f.closed.Load() {
		t.Error("the last window is open")
	}
}

// TestPacedTransactionsOfTurns checks that requests due in one turn do not carry over to the next.
func TestPacedTransactionsOfTurns(t *testing.T) {
	f := inTurns(exchange())
	f.open, f.pace.every = true, 100
	f.number = 11 // all that are due up to 1000
	stepTo(f, 1000, 11)
	stepTo(f, 2100, 0) // the ten requests due in the window were not sent
	if n, w := f.cold.count(), f.past[0]; n != 10-1 || w.unfinished != 9 {
		t.Errorf("the first turn has %d transactions, %d of them unfinished; want 9", n, w.unfinished)
	}
	if f.number != 0 || f.begins != 11000 {
		t.Errorf("the second turn begins at %d with transaction %d", f.begins, f.number)
	}
}

// TestTransactionOfSeveralTurns checks that a transaction that lasts for whole windows counts in a cold one, and in the first of
// the others.
func TestTransactionOfSeveralTurns(t *testing.T) {
	f := inTurns(exchange())
	exchangeTo(f, 500, 13500)
	exchangeTo(f, 22500, 23500)
	for _, of := range []struct {
		turns string
		l     *latencies
		n     int64
	}{{"the cold turn", f.cold, 1}, {"the others", f.counted, 2}} {
		if h := of.l.histogram(); h.TotalCount() != of.n || h.Max() < 13000 || h.Max() > 13000*101/100 {
			t.Errorf("%s: %d transactions, the longest of %d ns, want %d, and 13000", of.turns, h.TotalCount(), h.Max(), of.n)
		}
	}
}

// TestResultsOfTurnsAreSmall checks that the result of a turn is no larger in an agent's answer than plan.mostReported counts on.
func TestResultsOfTurnsAreSmall(t *testing.T) {
	const most = math.MaxInt32 / 3.0 // bytes in a turn, over 100 Gbit/s
	for _, flows := range []int{1, 16} {
		stream := startResult{CPU: cpuTime{math.Pi / 100, math.E / 100}}
		for range flows {
			stream.Units, stream.From = append(stream.Units, most), append(stream.From, 1e13)
		}
		stream.Bytes = slices.Repeat([]float64{most / 10}, partsOfWindow)
		rr := stream
		rr.Bytes, rr.Ended, rr.Covered = nil, rr.Bytes, 1e9
		for _, r := range []startResult{stream, rr} {
			b, err := json.Marshal(r)
			iferr.Fatal(t, err)
			if allowed := 32 * (12 + flows); len(b) > allowed {
				t.Errorf("%d flows: %d bytes, allowed %d: %s", flows, len(b), allowed, b)
			}
		}
	}
}

// TestTransactionCountsOnce checks that a transaction that lasts for several windows counts in the first of those that count, and covers
// the others.
func TestTransactionCountsOnce(t *testing.T) {
	f := inTurns(exchange())
	exchangeTo(f, 500, 2500)
	exchangeTo(f, 11500, 23500)
	if h := f.counted.histogram(); h.TotalCount() != 1 || h.Max() < 12000 || h.Max() > 12000*101/100 {
		t.Errorf("%d transactions, the longest of %d ns, want 1, and 12000", h.TotalCount(), h.Max())
	}
	for i, w := range f.past[1:] {
		if w.covered != w.closes-w.opens {
			t.Errorf("%d ns of the window %d are covered, want all %d", w.covered, i+1, w.closes-w.opens)
		}
	}
	if len(f.past) != 3 {
		t.Errorf("%d windows", len(f.past))
	}
}

func TestColdTurnsHaveAnotherWindow(t *testing.T) {
	got := turnsAt([]int64{0, 1000, 2000}, 10, 80, 1, 40)
	if want := []turn{{0, 10, 50}, {1000, 1010, 1090}, {2000, 2010, 2090}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTurnsThatAreTooClose(t *testing.T) {
	at := turnsAt([]int64{0, int64(100*time.Millisecond + answerRest)}, 40*time.Millisecond, 60*time.Millisecond, 0, 0)
	iferr.Error(t, checkTurns(at, answerRest))
	at[1].begins--
	if err := checkTurns(at, answerRest); err == nil || !strings.Contains(err.Error(), "turn 2 begins 2.999999ms after") {
		t.Error(err)
	}
}

// TestWhatIsOnItsWayIsNoticed has a peer that does not read the data that was sent.
func TestWhatIsOnItsWayIsNoticed(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	iferr.Fatal(t, err)
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	iferr.Fatal(t, err)
	defer c.Close()
	file, err := c.(*net.TCPConn).File()
	iferr.Fatal(t, err)
	defer file.Close()
	fd := int(file.Fd())
	iferr.Fatal(t, unix.SetNonblock(fd, true))
	const more = 50 * time.Millisecond
	f := &flow{fd: fd, pauses: nanotime(), left: make([]int, 1), session: &session{drain: more}}
	if !f.drained(nanotime()) || f.left[0] != 0 {
		t.Errorf("of nothing %d bytes are left", f.left[0])
	}
	for err == nil {
		_, err = unix.Write(fd, make([]byte, 1<<20))
	}
	if f.pauses = nanotime(); f.drained(f.pauses) || f.left[0] != 0 {
		t.Errorf("it does not wait for the time to be over; %d bytes are left", f.left[0])
	}
	if f.drained(f.pauses+int64(drainTime)) || f.left[0] != 0 {
		t.Errorf("it does not wait for a network that queues more; %d bytes are left", f.left[0])
	}
	if !f.drained(f.pauses+int64(drainTime+more)) || !errors.Is(err, unix.EAGAIN) || f.left[0] == 0 {
		t.Errorf("%v; %d bytes are left of what nobody reads", err, f.left[0])
	}
}

// TestTurns has two jobs at once, which take turns.
func TestTurns(t *testing.T) {
	a, _ := twoCPUs(t)
	cpu := []int{a}
	for _, c := range []struct {
		name    string
		work    string
		options record.Options
		cpus    []int
		addr    func(*workload.Pair)
	}{
		{"stream", record.TCPStream, record.Options{}, nil, nil},
		{"streams back", record.TCPStream, record.Options{Streams: 3, Reverse: true}, nil, nil},
		{"both ways over IPv6", record.TCPBidir, record.Options{}, nil, func(p *workload.Pair) { p.Addr = loopback6 }},
		{"streams on one thread", record.TCPStream, record.Options{Streams: 3}, cpu, nil},
		{"both ways on one thread", record.TCPBidir, record.Options{Streams: 2}, cpu, nil},
		{"exchange", record.TCPRR, record.Options{}, nil, nil},
		{"stream of a given rate", record.TCPStream, record.Options{Bandwidth: 200_000_000}, nil, nil},
		{"streams of a given rate on one CPU", record.TCPStream, record.Options{Streams: 2, Bandwidth: 200_000_000}, cpu, nil},
		{"paced exchange", record.PacedRR, record.Options{Rate: 2000}, nil, nil},
		{"exchanges of unequal sizes", record.TCPRR, record.Options{Streams: 2, RequestSize: 10_000, ResponseSize: 1}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			const turns, length = 4, 40 * time.Millisecond
			attempt := func(soon time.Duration) (results [][]workload.Result, together []workload.Result, err error) {
				var stand []workload.Standing
				var ends []*endpoint
				for i := range 2 {
					client, server := newEndpoint(fmt.Sprintf("c%d", i)), newEndpoint(fmt.Sprintf("s%d", i))
					pair := workload.Pair{Client: client, Server: server, Port: machine.FreePort(t)}
					if c.addr != nil {
						c.addr(&pair)
					}
					job := testJob(t, c.work, pair)
					job.Options, job.Warmup, job.Duration = c.options, length/2, length
					job.CPUs = workload.CPUs{Client: c.cpus, Server: c.cpus}
					s, err := New().Stand(t.Context(), job)
					iferr.Fatal(t, err)
					defer s.Close()
					stand, ends = append(stand, s), append(ends, client, server)
				}
				first := time.Now().Add(stand[0].Notice() + stand[1].Notice() + soon)
				const each = length/2 + length + 50*time.Millisecond // a test's machine may be busy
				results, together = make([][]workload.Result, 2), make([]workload.Result, 2)
				errs := make([]error, 2)
				var running sync.WaitGroup
				for i, s := range stand {
					var at []time.Time
					for n := range turns {
						at = append(at, first.Add(time.Duration(2*n+i)*each))
					}
					running.Go(func() {
						results[i], together[i], errs[i] = s.Turns(t.Context(), workload.Turns{Begins: at, Cold: 1, Over: first.Add(2 * turns * each)})
					})
				}
				running.Wait()
				for _, s := range stand {
					s.Close()
				}
				for _, e := range ends {
					e.gone(t)
				}
				return results, together, errors.Join(errs...)
			}
			results, together, err := attempt(50 * time.Millisecond)
			for soon := 200 * time.Millisecond; err != nil && busy(err) && soon < 20*time.Second; soon *= 4 {
				results, together, err = attempt(soon)
			}
			iferr.Fatal(t, err)
			for i, all := range results {
				if len(all) != turns {
					t.Fatalf("%d results, want %d", len(all), turns)
				}
				checkTogether(t, together[i], all[1:], max(2, c.options.RequestSize+c.options.ResponseSize))
				for n, r := range all {
					moved := r.Bytes > 0
					if conns := r.Crossed[0].Conns; (conns > 0) != (n == 0) {
						t.Errorf("turn %d of job %d made %d connections", n+1, i, conns)
					}
					if r.Window != length || !moved && len(r.Warnings) == 0 || r.Crossed[0].Bytes < r.Bytes/2 {
						t.Errorf("turn %d of job %d: %d bytes in %v, %d crossed, %v", n+1, i, r.Bytes, r.Window, r.Crossed[0].Bytes, r.Metrics)
					}
				}
			}
		})
	}
}

// TestLateByes has an answering end that learns of the end of a turn after the next one has begun,
// and a requesting end for which two turns are over at once.
func TestLateByes(t *testing.T) {
	begun := nanotime() - int64(time.Second)
	s := &session{role: server, inTurns: true, quit: make(chan struct{})}
	s.turns = []turn{{begun - 300, begun - 200, begun - 100}, {begun, begun + 100, begun + 200}, {never / 2, never/2 + 100, never/2 + 200}}
	f := &flow{kind: exchange(), session: s, fd: -1, file: -1}
	f.prepare()
	f.told = true
	woken := make(chan struct{})
	go func() {
		f.await()
		close(woken)
	}()
	select {
	case <-woken:
	case <-time.After(time.Minute):
		t.Fatal("it sleeps through the turn that has begun")
	}
	if f.turn != 1 || f.told {
		t.Errorf("turn %d, told: %v", f.turn, f.told)
	}

	f = inTurns(exchange())
	stepTo(f, 500, 1)
	stepTo(f, 1500, 1)
	stepTo(f, 21500, 1) // in the third turn
	if f.byes != 2 || f.turn != 2 {
		t.Errorf("%d ends of turns are to be told, in turn %d", f.byes, f.turn)
	}
}

// checkTogether checks that the result of several turns together is their sum, except for the
// rounding of transactions that lie across the edge of a window.
func checkTogether(t *testing.T, sum workload.Result, each []workload.Result, exchange int) {
	t.Helper()
	var window time.Duration
	var bytes uint64
	var count int64
	var cpu float64
	for _, r := range each {
		window, bytes, cpu = window+r.Window, bytes+r.Bytes, cpu+r.Client.Total()
		if r.Latency != nil {
			count += r.Latency.Count
		}
	}
	rounding := max(0.001*float64(bytes), float64(exchange*len(each))) // of transactions, where there are few
	if sum.Window != window || math.Abs(float64(sum.Bytes)-float64(bytes)) > rounding || math.Abs(sum.Client.Total()-cpu) > 1e-9 {
		t.Errorf("together %d bytes in %v with %v s of CPU; the turns have %d in %v with %v s", sum.Bytes, sum.Window, sum.Client.Total(), bytes, window, cpu)
	}
	if count > 0 && (sum.Latency == nil || sum.Latency.Count != count) {
		t.Errorf("together they have %+v, want %d latencies", sum.Latency, count)
	}
	var course float64
	for i := range partsOfWindow {
		if sum.Course.Bytes != nil {
			course += float64(sum.Course.Bytes[i])
		}
	}
	if sum.Course.Bytes != nil && math.Abs(course-float64(bytes)) > rounding {
		t.Errorf("the course has %v bytes, the turns %d", course, bytes)
	}
}

// TestFlowsSleepBetweenTurns reads the CPU clocks of processes whose flows have a long pause. A busy machine may finish the
// previous turn's work, or read the clocks, only when a short pause is over.
func TestFlowsSleepBetweenTurns(t *testing.T) {
	var wrong []string
	for slow := time.Duration(1); slow <= 9; slow *= 3 {
		if wrong = workBetweenTurns(t, slow); len(wrong) == 0 {
			return
		}
	}
	t.Errorf("%q", wrong)
}

// workBetweenTurns returns which processes do more than sleep in a pause between two turns; all times are multiplied by slow.
func workBetweenTurns(t *testing.T, slow time.Duration) (wrong []string) {
	t.Helper()
	pause, calm := 4*slow*time.Second, slow*time.Second
	ends, stand := map[string]*endpoint{}, map[string]workload.Standing{}
	cpu, _ := twoCPUs(t)
	for work, cpus := range map[string][]int{record.TCPStream: nil, record.TCPBidir: {cpu}, record.TCPRR: nil, record.PacedRR: nil} {
		client, server := newEndpoint("c"), newEndpoint("s")
		ends["client of "+work], ends["server of "+work] = client, server
		job := testJob(t, work, workload.Pair{Client: client, Server: server, Port: machine.FreePort(t)})
		job.CPUs = workload.CPUs{Client: cpus, Server: cpus} // of which one makes a thread serve both ways
		job.Warmup, job.Duration = 20*time.Millisecond, 40*time.Millisecond
		s, err := New().Stand(t.Context(), job)
		iferr.Fatal(t, err)
		defer s.Close()
		stand[work] = s
	}
	first := time.Now().Add(slow * time.Second)
	failed := make(chan error, len(stand))
	for work, s := range stand {
		go func() {
			_, _, err := s.Turns(t.Context(), workload.Turns{Begins: []time.Time{first, first.Add(pause)}})
			failed <- wrap.Error(err, "%s", work)
		}()
	}
	used := func() map[string]time.Duration {
		all := map[string]time.Duration{}
		for name, e := range ends {
			all[name] = processTime(t, e.started[0].PID())
		}
		return all
	}
	time.Sleep(time.Until(first.Add(calm)))
	from, began := used(), time.Now()
	time.Sleep(time.Until(first.Add(pause - slow*200*time.Millisecond)))
	while := time.Since(began)
	for name, to := range used() {
		if cpu := to - from[name]; cpu > while/1000 {
			wrong = append(wrong, fmt.Sprintf("%s: flows that sleep took %v of CPU in %v", name, cpu, while))
		}
	}
	for range stand {
		if err := <-failed; err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong
}

// processTime returns the CPU time of a process, by its own clock.
func processTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	const processClock = 2 // CPUCLOCK_SCHED of a process, in linux/posix-timers.h
	var ts unix.Timespec
	iferr.Fatal(t, unix.ClockGettime(int32(^pid<<3|processClock), &ts))
	return time.Duration(ts.Nano())
}

func TestWorkloadsThatCannotRest(t *testing.T) {
	for _, work := range []string{record.TCPCRR, record.UDPStream, record.UDPRR, record.HTTP} {
		job := testJob(t, work, workload.Pair{Client: newEndpoint("c"), Server: newEndpoint("s"), Port: 1})
		if s, err := New().Stand(t.Context(), job); !errors.Is(err, errNoTurns) {
			t.Errorf("%s: %v, %v", work, s, err)
		}
	}
}

// TestWhatATurnFinished divides a flow's total among turns.
func TestWhatATurnFinished(t *testing.T) {
	p := &party{}
	for _, from := range []int64{0, 1207, 1208} {
		p.window.Turns = append(p.window.Turns, startResult{windowResult: windowResult{From: []int64{from, 0}}})
	}
	for turn, want := range []int64{1207, 1, 2103} {
		if got := p.finishedIn(turn, []int64{3311, 0}); got[0] != want || got[1] != 0 {
			t.Errorf("turn %d finished %v, want %d", turn+1, got, want)
		}
	}
}

// told gives the parties of a trial what they report of flows that have all finished as much.
func told(t *trial, total int64) {
	for _, p := range t.parties() {
		n := len(p.flows)
		p.left = stopResult{
			Totals: slices.Repeat([]int64{total}, n), Conns: make([]int64, n), Datagrams: make([]*datagrams, n),
			TCP: slices.Repeat([]*record.TCPInfo{{}}, n),
		}
	}
}

// pairsOf returns pairs of clients and one server.
func pairsOf(clients ...string) (pairs []workload.Pair) {
	server := newEndpoint("s")
	for _, name := range clients {
		pairs = append(pairs, workload.Pair{Client: newEndpoint(name), Server: server, Addr: loopback4, Listen: loopback4, Port: 5001})
	}
	return pairs
}

// TestSumsOfTurns adds up a cold turn and two others of two clients with two flows each.
func TestSumsOfTurns(t *testing.T) {
	const window = 100 * time.Millisecond
	tr, err := plan(workload.Job{
		Workload: record.TCPRR, Options: record.Options{Streams: 2, RequestSize: 100, ResponseSize: 300}, Duration: window, Pairs: pairsOf("a", "b"),
	})
	iferr.Fatal(t, err)
	tr.inTurns = true
	told(tr, 100)
	some := newLatencies()
	some.add(1000)
	for i, p := range tr.parties() { // the server is the first
		for turn := range int64(3) {
			r := startResult{CPU: cpuTime{User: float64(turn + 1), System: float64(5 * (turn + 1))}}
			if p.role == client {
				r.windowResult = windowResult{
					Units: []float64{float64(10 * (turn + 1)), float64(5 * (turn + 1))}, Ended: slices.Repeat([]float64{1.5 * float64(turn+1)}, partsOfWindow),
					Covered: int64(i) * 1e6 * (turn + 1), Unfinished: turn + int64(i), From: []int64{20*turn + 3, 10*turn + 2}, // some before the first turn
				}
			}
			p.window.Turns = append(p.window.Turns, r)
		}
		if p.role == client {
			p.left.Left = []int{3000, 0, 7100}
			p.window.Counted, err = encodeSum([]*latencies{some})
			iferr.Fatal(t, err)
		}
	}
	each, err := tr.turnResults(3)
	iferr.Fatal(t, err)
	for i, transactions := range []uint64{35, 30, 135} {
		conns := uint64(0)
		if i == 0 {
			conns = 2
		}
		want := workload.Crossed{Bytes: 400 * transactions, Fewer: 100 * transactions, Transactions: transactions, Conns: conns}
		if one := each[i]; !slices.Equal(one.Crossed, []workload.Crossed{want, want}) || one.Bytes != 400*30*uint64(i+1) {
			t.Errorf("turn %d: %d bytes in its window, %+v, want %+v", i+1, one.Bytes, one.Crossed, want)
		}
		if left := []string{"6 KB", "", "15 KB"}[i]; len(each[i].Warnings) != len(strings.Fields(left))/2 || left != "" && !strings.HasPrefix(each[i].Warnings[0].Text, left) {
			t.Errorf("turn %d: %+v, want %q", i+1, each[i].Warnings, left)
		}
	}
	r, err := tr.together(each, 1)
	iferr.Fatal(t, err)
	if r.Window != 2*window || r.Metrics[record.TransactionRate].Value != 750 || r.Flows[0].Transactions != 50 || r.Flows[3].Transactions != 25 || r.Latency.Count != 2 {
		t.Errorf("in %v: %+v, %+v, %+v", r.Window, r.Metrics, r.Flows, r.Latency)
	}
	if !near(r.Covered, 15e6/(4*0.2e9)) || r.Latency.Unfinished != 12 || len(r.Warnings) != 1 {
		t.Errorf("%v covered, %d unfinished, %+v", r.Covered, r.Latency.Unfinished, r.Warnings)
	}
	if c, s := r.Client, r.Server; c.User != 10 || c.System != 50 || s.User != 5 || s.System != 25 {
		t.Errorf("CPU times are %+v and %+v", c, s)
	}
	for i, n := range r.Course.Transactions {
		if n != 15 {
			t.Errorf("part %d has %v transactions", i, n)
		}
	}
}

// TestScheduledTransactionsCoverNothing: the time of one is from when it was due, and that of several can be the same.
func TestScheduledTransactionsCoverNothing(t *testing.T) {
	for name, want := range map[string]float64{record.TCPRR: 0.5, record.PacedRR: 0} {
		tr, err := plan(workload.Job{Workload: name, Duration: time.Second, Pairs: pairsOf("a")})
		iferr.Fatal(t, err)
		tr.clients[0].window.Covered = int64(time.Second / 2)
		if got := tr.covered(); got != want {
			t.Errorf("%s: %v covered, want %v", name, got, want)
		}
	}
}

// TestMuteInAllTurns checks that a flow is mute if it is so in every turn.
func TestMuteInAllTurns(t *testing.T) {
	var sum startResult
	for i, mute := range [][]int{{0, 1, 3}, {1, 2, 3}, {1, 0}} {
		sum.add(startResult{windowResult: windowResult{Mute: mute}}, i == 0)
	}
	if !slices.Equal(sum.Mute, []int{1}) {
		t.Errorf("flows %v are mute", sum.Mute)
	}
}

// TestSilentStreamInTurns has two streams, one of which receives nothing after the turn that does not count: it may if it is late, or
// if turns are soon over.
func TestSilentStreamInTurns(t *testing.T) {
	for _, c := range []struct {
		total int64 // of the second stream, in all
		span  time.Duration
		want  string
	}{
		{500, 1500 * time.Millisecond, "server s: flow 0 of client b received nothing in all of its turns, which took 1.5s"},
		{501, 1500 * time.Millisecond, ""},
		{500, 900 * time.Millisecond, ""},
	} {
		tr, err := plan(workload.Job{Workload: record.TCPStream, Duration: time.Second, Pairs: pairsOf("a", "b"), Options: record.Options{Streams: 1}})
		iferr.Fatal(t, err)
		tr.inTurns, tr.span = true, c.span
		told(tr, 1000)
		server := tr.servers[0]
		server.left.Totals = []int64{3000, c.total}
		for i, units := range [][]float64{{500, 500}, {500, 0}, {500, 0}} {
			server.window.Turns = append(server.window.Turns, startResult{
				windowResult: windowResult{Units: units, From: []int64{int64(i) * 500, int64(min(i, 1)) * 500}, Silent: min(i, 1)},
			})
		}
		for _, p := range tr.clients {
			p.window.Turns = make([]startResult, 3)
		}
		r, err := tr.together(make([]workload.Result, 3), 1)
		if starved := slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == record.WarnStarved }); err == nil && c.total == 500 && !starved {
			t.Errorf("%d in all, in %v: no warning says that it received nothing: %v", c.total, c.span, r.Warnings)
		}
		if got := fmt.Sprint(err); c.want != "" && got != c.want || c.want == "" && err != nil {
			t.Errorf("%d in all, in %v: %v, want %q", c.total, c.span, err, c.want)
		}
	}
}

// TestSumsOfBothDirections has two clients whose streams to the server carry more than those from it.
func TestSumsOfBothDirections(t *testing.T) {
	tr, err := plan(workload.Job{Workload: record.TCPBidir, Duration: time.Second, Pairs: pairsOf("a", "b"), Options: record.Options{Streams: 1}})
	iferr.Fatal(t, err)
	told(tr, 1000)
	for _, p := range tr.parties() {
		got := 500.0
		if p.role == client {
			got, p.left.Totals = 100, []int64{400, 400}
		}
		p.window.Cold = 1
		p.window.Units, p.window.Bytes = slices.Repeat([]float64{got}, len(p.flows)), slices.Repeat([]float64{got / 10}, partsOfWindow)
	}
	r, err := tr.result()
	iferr.Fatal(t, err)
	if want := (workload.Crossed{Bytes: 1400, Fewer: 400, Conns: 2}); !slices.Equal(r.Crossed, []workload.Crossed{want, want}) {
		t.Errorf("%+v crossed, want %+v for each", r.Crossed, want)
	}
	if r.Bytes != 1200 || r.Metrics[record.Throughput].Value != 9600 || r.Course.Bytes[9] != 70 || r.Metrics[record.Retransmits].Unit == "" {
		t.Errorf("%d bytes, %+v, %+v", r.Bytes, r.Metrics, r.Course)
	}
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0].Text, "3 of 4 flows had received nothing") {
		t.Errorf("%+v", r.Warnings)
	}
}
