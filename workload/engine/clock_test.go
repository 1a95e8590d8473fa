package engine

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

func TestOffset(t *testing.T) {
	type answer struct{ asked, theirs, answered int64 }
	for _, c := range []struct {
		name    string
		answers []answer
		want    int64 // their clock when ours shows 0
	}{
		{"one clock", []answer{{100, 110, 120}, {200, 200, 210}, {300, 390, 400}}, 0},
		{"one clock, read late", []answer{{100, 111, 111}}, 0},
		{"nearly one clock", []answer{{100, 100 + 130, 200}}, 80},
		{"ahead", []answer{{100, 1_000_105, 110}}, 1_000_000},
		{"behind", []answer{{100, -999_895, 110}}, -1_000_000},
		{"the fastest answer", []answer{{100, 1_000_900, 1100}, {2000, 1_002_005, 2010}, {3000, 1_003_001, 3500}}, 1_000_000},
	} {
		var o offset
		slowest := int64(0)
		for _, a := range c.answers {
			o.learn(a.asked, a.theirs, a.answered)
			slowest = max(slowest, a.answered-a.asked)
		}
		o.snap()
		if got := o.ahead; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		if o.slowest != slowest {
			t.Errorf("%s: slowest answer %d, want %d", c.name, o.slowest, slowest)
		}
	}
}

// TestRunWithClocksThatDiffer has ends whose clocks are an hour ahead and behind. A start that
// ignored this would come an hour too late, or last that long.
func TestRunWithClocksThatDiffer(t *testing.T) {
	for _, how := range [][2]string{{livesAhead, behaves}, {behaves, livesAhead}, {livesBehind, livesAhead}} {
		c, s := newEndpoint("c"), newEndpoint("s")
		c.how, s.how = how[0], how[1]
		job := testJob(t, record.TCPRR, workload.Pair{Client: c, Server: s, Port: machine.FreePort(t)})
		r, _ := runTrial(t, job)
		checkResult(t, job, r)
		if r.Clocks != nil {
			t.Errorf("clocks of one machine were compared: %+v", r.Clocks)
		}
		job.Distant = true
		job.Pairs[0].Port = machine.FreePort(t)
		for try := 0; try == 0 || try < patienceOfTests && r.Clocks != nil && r.Clocks.Over != record.OverNetwork; try++ { // nobody may have answered in time
			r, _ = runTrial(t, job)
			checkResult(t, job, r)
		}
		if r.Clocks == nil || r.Clocks.Over != record.OverNetwork || r.Clocks.Bound <= 0 {
			t.Errorf("the clocks were compared %+v", r.Clocks)
		}
	}
}

// TestClocksOfMachines has two clients on one machine, each of which talks to a server of its own on another one: one comparison
// tells of all of them.
func TestClocksOfMachines(t *testing.T) {
	job := testJob(t, record.TCPRR)
	job.Distant, job.Clock = true, func(e platform.Endpoint) string { return e.(*endpoint).how }
	for i := range 2 {
		c, s := newEndpoint(fmt.Sprintf("c%d", i)), newEndpoint(fmt.Sprintf("s%d", i))
		c.how, s.how = livesBehind, livesAhead
		job.Pairs = append(job.Pairs, workload.Pair{Client: c, Server: s})
	}
	var r workload.Result
	for try := 0; try == 0 || try < patienceOfTests && r.Clocks != nil && r.Clocks.Over != record.OverNetwork; try++ { // nobody may have answered in time
		for i := range job.Pairs {
			job.Pairs[i] = workload.Pair{
				Client: job.Pairs[i].Client, Server: job.Pairs[i].Server, Addr: loopback4, Listen: loopback4, Port: machine.FreePort(t),
			}
		}
		r, _ = runTrial(t, job)
		checkResult(t, job, r)
	}
	if r.Clocks == nil || r.Clocks.Over != record.OverNetwork || r.Clocks.Bound <= 0 {
		t.Errorf("the clocks were compared %+v", r.Clocks)
	}
}

// TestClocksWithoutDatagrams has a server whose UDP port is in use, so that it answers no datagrams, as if the network
// carried none: clocks are compared over the control path.
func TestClocksWithoutDatagrams(t *testing.T) {
	c, s := newEndpoint("c"), newEndpoint("s")
	c.how, s.how = livesBehind, livesAhead
	job := testJob(t, record.TCPRR, workload.Pair{Client: c, Server: s, Port: machine.FreePort(t)})
	job.Distant = true
	taken, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: job.Pairs[0].Port})
	iferr.Fatal(t, err)
	defer taken.Close()
	r, _ := runTrial(t, job)
	checkResult(t, job, r)
	if r.Clocks == nil || r.Clocks.Over != record.OverControl || r.Clocks.Bound <= 0 {
		t.Errorf("the clocks were compared %+v", r.Clocks)
	}
}

// TestClockThatJumps has an end whose clock jumps in the middle: the windows of the two ends were
// not at the same time, and the counts are worthless.
// TestComparisonOutlivesAPause loses the first question and the time of a pause: the clocks are compared all the same.
func TestComparisonOutlivesAPause(t *testing.T) {
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	iferr.Fatal(t, err)
	defer server.Close()
	var asked atomic.Int64
	paused := clock(func() int64 {
		if asked.Load() > 0 {
			return nanotime() + int64(time.Minute)
		}
		return nanotime()
	})
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := server.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			if asked.Add(1) > 1 {
				server.WriteToUDPAddrPort(binary.BigEndian.AppendUint64(b[:n:n], uint64(paused())), from)
			}
		}
	}()
	got, err := paused.compare(t.Context(), compareParams{To: server.LocalAddr().(*net.UDPAddr).AddrPort(), Cookie: testCookie})
	if err != nil || got.Took <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestClockThatJumps(t *testing.T) {
	const jump = 10 * time.Second // as leaps has it
	for name, run := range map[string]func(job workload.Job, soon time.Duration) error{
		"whole": func(job workload.Job, _ time.Duration) error {
			_, err := New().Run(t.Context(), job)
			return err
		},
		"in turns": func(job workload.Job, soon time.Duration) error {
			s, err := New().Stand(t.Context(), job)
			if err != nil {
				return err
			}
			defer s.Close()
			first := time.Now().Add(s.Notice() + soon)
			_, _, err = s.Turns(t.Context(), workload.Turns{Begins: []time.Time{first, first.Add(4 * soon)}})
			return err
		},
	} {
		var err error
		for soon := 50 * time.Millisecond; soon < 20*time.Second && (err == nil || busy(err)); soon *= 4 { // a busy machine tells the ends too late
			c, s := newEndpoint("c"), newEndpoint("s")
			s.how = leaps
			job := testJob(t, record.TCPStream, workload.Pair{Client: c, Server: s, Port: machine.FreePort(t)})
			job.Warmup, job.Duration = soon*2/5, soon*4/5
			if err = run(job, soon); err == nil {
				break
			}
		}
		if err == nil {
			t.Errorf("%s: a clock that jumps was not noticed", name)
			continue
		}
		// By how much is known as well as the clocks are compared, which a loaded machine delays.
		_, by, _ := strings.Cut(err.Error(), "server s: its clock has jumped by ")
		by, _, _ = strings.Cut(by, " ")
		if d, bad := time.ParseDuration(by); bad != nil || (d-jump).Abs() > time.Second {
			t.Errorf("%s: %v, want a jump of some %v", name, err, jump)
		}
	}
	for _, c := range []struct {
		before, now offset
		want        time.Duration
	}{
		{offset{ahead: 5000, took: 100, learned: 1}, offset{ahead: 5150, took: 60, learned: 1}, 0},
		{offset{ahead: 5000, took: 100, learned: 1}, offset{ahead: 5170, took: 60, learned: 1}, 170},
		{offset{ahead: 5000, took: 100, learned: 1}, offset{ahead: 4000, took: 60, learned: 1}, -1000},
		{offset{took: 100, learned: 1}, offset{ahead: 1_000_000, took: 100, learned: 1 + 1e9}, 0}, // one second later
	} {
		if got := c.now.jumped(c.before); got != c.want {
			t.Errorf("from %+v to %+v: %v, want %v", c.before, c.now, got, c.want)
		}
	}
}

// TestTurnsByOneClock has two networks between machines whose clocks differ, which take turns by the clock of their servers'
// machine, as one of them knows it. Meanwhile a clock jumps by so little that only the comparison over its network, a third
// one, shows it.
func TestTurnsByOneClock(t *testing.T) {
	// A busy machine may tell the ends too late, or not answer datagrams in time.
	for soon := 100 * time.Millisecond; ; soon *= 4 {
		wrong := turnsByOneClock(t, soon)
		if len(wrong) == 0 {
			return
		}
		if soon > 5*time.Second {
			t.Fatalf("%q", wrong)
		}
	}
}

// turnsByOneClock returns what is wrong with turns that begin soon.
func turnsByOneClock(t *testing.T, soon time.Duration) (wrong []string) {
	t.Helper()
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	const turns, length, each = 3, 40 * time.Millisecond, 150 * time.Millisecond
	var stand []workload.Standing
	for i, how := range []string{livesAhead, livesAhead, slips} {
		c, s := newEndpoint(fmt.Sprintf("c%d", i)), newEndpoint(fmt.Sprintf("s%d", i))
		if s.how = how; how == livesAhead {
			c.how = livesBehind
		}
		job := testJob(t, record.TCPRR, workload.Pair{Client: c, Server: s, Port: machine.FreePort(t)})
		job.Warmup, job.Duration, job.Distant = length/2, length, true
		one, err := New().Stand(t.Context(), job)
		iferr.Fatal(t, err)
		defer one.Close()
		stand = append(stand, one)
		clocks := one.Clocks()
		if clocks == nil || clocks.Apart <= 0 || clocks.Within <= 0 || len(clocks.Of) != 2 || clocks.Of[s] != clocks.Ahead {
			add("network %d: %+v", i, clocks)
			return wrong
		}
		if how == livesAhead && (clocks.Ahead-time.Hour).Abs() > clocks.Within || how == livesAhead && (clocks.Of[s]-clocks.Of[c]-2*time.Hour).Abs() > 2*clocks.Apart {
			add("network %d: %+v", i, clocks)
		}
	}
	ahead := stand[0].Clocks().Ahead
	first := time.Now().Add(stand[0].Notice() + stand[1].Notice() + soon)
	results, errs := make([][]workload.Result, len(stand)), make([]error, len(stand))
	var running sync.WaitGroup
	for i, s := range stand {
		when := workload.Turns{Cold: 1}
		for n := range turns {
			when.Begins = append(when.Begins, first.Add(time.Duration(n)*each))
		}
		if i == 1 {
			when.Ahead = &ahead
		}
		running.Go(func() { results[i], _, errs[i] = s.Turns(t.Context(), when) })
	}
	running.Wait()
	for i := range 2 {
		if errs[i] != nil {
			add("network %d: %v", i, errs[i])
		}
		for n, r := range results[i] {
			if r.Bytes == 0 && len(r.Warnings) == 0 || r.Clocks == nil || r.Clocks.Over != record.OverNetwork {
				add("network %d, turn %d: %d bytes, clocks %+v", i, n+1, r.Bytes, r.Clocks)
			}
		}
	}
	if err := errs[2]; err == nil || !strings.Contains(err.Error(), "client c2: its clock has jumped by -") {
		add("error %v", err)
	}
	return wrong
}

// TestClocksThatContradictEachOther has two machines taken for one clock: what was compared over the network holds for the first, and
// the control path shows that the second has another. Errors of both may add up.
func TestClocksThatContradictEachOther(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, c := range []struct {
		second int64 // how far its clock is ahead of ours
		want   string
	}{
		{1000 * ms, ""},
		{1006 * ms, ""}, // 2 of each answer of the control path, and 1 of each of two comparisons
		{5000 * ms, "client b: its clock is not the one that was compared over the network, but -4s from it"},
	} {
		tr, err := plan(workload.Job{
			Workload: record.TCPStream, Duration: time.Second, Pairs: pairsOf("a", "b"), Distant: true,
			Clock: func(e platform.Endpoint) string { return map[string]string{"s": "s", "a": "c", "b": "c"}[e.Name()] },
		})
		iferr.Fatal(t, err)
		tr.compared, tr.known, tr.clocks = nanotime(), map[string]int64{"s": 0, "c": 900 * ms}, &record.Clocks{Bound: 1e-3}
		for p, ahead := range map[*party]int64{tr.servers[0]: 100 * ms, tr.clients[0]: 1000 * ms, tr.clients[1]: c.second} {
			p.clock = offset{ahead: ahead, took: 2 * ms}
			p.ahead = ahead
		}
		err = tr.agree()
		if got := fmt.Sprint(err); c.want != "" && got != c.want || c.want == "" && err != nil {
			t.Errorf("%v ahead: %v, want %q", time.Duration(c.second), err, c.want)
		}
		if c.want == "" && (tr.clients[0].ahead != 1000*ms || tr.clients[1].ahead != 1000*ms) {
			t.Errorf("clients are %d and %d ahead", tr.clients[0].ahead, tr.clients[1].ahead)
		}
	}
}

func TestStartThatComesTooLate(t *testing.T) {
	h := newHandlers(t)
	openBoth(t, h, record.TCPRR, record.Options{}, loopback4, machine.FreePort(t), 1)
	late := startParams{Session: "client", Begins: nanotime() - int64(time.Second), Warmup: 500 * time.Millisecond, Duration: time.Second}
	if r, err := ask[startResult](t.Context(), h, methodStart, late); err != nil || r.Late < 499*time.Millisecond || len(r.Units) > 0 {
		t.Errorf("%+v, error %v", r, err)
	}
}

// TestLateStartOfAColdTurn lets an end miss seven eighths of a window that does not count, and a hundredth of one that does.
func TestLateStartOfAColdTurn(t *testing.T) {
	first := turn{begins: 0, opens: 1000, closes: 2000}
	if counts, cold := tolerated(first, 0), tolerated(first, 1); counts != 10 || cold != 875 {
		t.Errorf("%d and, if it is cold, %d", counts, cold)
	}
}

// TestNothingEndedBeforeTheLoad checks that all other figures stand if no transaction ended before the load began.
func TestNothingEndedBeforeTheLoad(t *testing.T) {
	encoded := func(each ...int64) string {
		l := newLatencies()
		for _, ns := range each {
			l.add(ns)
		}
		e, err := encodeSum([]*latencies{l})
		iferr.Fatal(t, err)
		return e
	}
	for _, c := range []struct {
		unloaded []int64
		codes    []string
	}{{[]int64{200}, nil}, {nil, []string{WarnNoUnloaded}}} {
		run := &trial{traffic: latencyUnderLoad(), job: workload.Job{Duration: time.Second}, clients: []*party{
			{window: startResult{windowResult: windowResult{Latencies: encoded(1000), Unloaded: encoded(c.unloaded...)}}},
		}}
		r := workload.Result{Metrics: map[string]record.Metric{}}
		iferr.Error(t, run.addLatency(&r, 1))
		added, known := r.Metrics[record.LatencyAdded]
		codes := record.Each(r.Warnings, func(w record.Warning) string { return w.Code })
		if r.Metrics[record.LatencyP50].Value != 1e-6 || known != (c.codes == nil) || known && added.Value != 0.8e-6 || !slices.Equal(codes, c.codes) {
			t.Errorf("%v before the load: %v, %v", c.unloaded, r.Metrics, r.Warnings)
		}
	}
}

// TestLateFlowsBegin checks that the flows that load a path do not send for the first half of the
// warm-up, and settle after that.
func TestLateFlowsBegin(t *testing.T) {
	kinds := latencyUnderLoad().flows(record.Options{Streams: 2})
	if len(kinds) != 3 || kinds[0].late || !kinds[1].late || !kinds[2].late {
		t.Fatalf("flows %+v", kinds)
	}
	s := &session{role: server}
	probe, load := &flow{kind: kinds[0], session: s}, &flow{kind: kinds[1], session: s, patient: true}
	for _, f := range []*flow{probe, load} {
		f.schedule(1000, 5000, 6000)
	}
	if probe.begins != 4000 || load.begins != 4500 || probe.settles != load.begins || load.settles != 4750 || load.cutAt != 4750 {
		t.Errorf("probe from %d, unloaded until %d; load from %d, settles at %d", probe.begins, probe.settles, load.begins, load.settles)
	}
	job := workload.Job{Workload: record.LatencyUnderLoad, Duration: time.Second, Pairs: []workload.Pair{
		{Client: newEndpoint("c"), Server: newEndpoint("s"), Addr: loopback4, Listen: loopback4, Port: 1},
	}}
	if _, err := plan(job); err == nil || !strings.Contains(err.Error(), "needs a warm-up") {
		t.Errorf("no warm-up: error %v", err)
	}
}
