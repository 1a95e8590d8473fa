package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/record"
	"nettoll/workload"
)

// The tests of this file run whole trials with agents in separate processes.

func testJob(t *testing.T, name string, pairs ...workload.Pair) workload.Job {
	t.Helper()
	leavesNothing(t)
	for i := range pairs {
		if !pairs[i].Addr.IsValid() {
			pairs[i].Addr = loopback4
		}
		pairs[i].Listen = pairs[i].Addr
	}
	return workload.Job{Workload: name, Pairs: pairs, Warmup: 200 * time.Millisecond, Duration: 500 * time.Millisecond}
}

// watched counts the calls of the job's observer.
func watched(job *workload.Job) (opened, closed *atomic.Int32) {
	opened, closed = new(atomic.Int32), new(atomic.Int32)
	job.Watch = workload.Watch{Open: func() { opened.Add(1) }, Close: func() { closed.Add(1) }}
	return opened, closed
}

func TestRun(t *testing.T) {
	a, b, s, z := newEndpoint("a"), newEndpoint("b"), newEndpoint("s"), newEndpoint("z")
	port := machine.FreePort(t)
	pair := func(c, s *endpoint) workload.Pair { return workload.Pair{Client: c, Server: s, Port: port} }
	six := pair(a, s)
	six.Addr = loopback6
	other := pair(b, z)
	other.Port = machine.FreePort(t)
	for _, c := range []struct {
		name    string
		work    string
		options record.Options
		cpus    workload.CPUs
		pairs   []workload.Pair
		agents  int
	}{
		{"one stream", record.TCPStream, record.Options{}, workload.CPUs{Client: []int{0}, Server: []int{0}}, []workload.Pair{pair(a, s)}, 2},
		{"streams over IPv6", record.TCPStream, record.Options{Streams: 2, ZeroCopy: true, SkipRxCopy: true}, workload.CPUs{}, []workload.Pair{six}, 2},
		{"streams on one thread", record.TCPStream, record.Options{Streams: 3, Reverse: true}, workload.CPUs{Client: []int{0}, Server: []int{0}}, []workload.Pair{pair(a, s)}, 2},
		{"two clients of one server", record.TCPStream, record.Options{Streams: 2}, workload.CPUs{}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"one client of two servers", record.TCPRR, record.Options{}, workload.CPUs{}, []workload.Pair{pair(b, s), other}, 3},
		{"rr", record.TCPRR, record.Options{RequestSize: 10, ResponseSize: 20}, workload.CPUs{}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"both ways", record.TCPBidir, record.Options{Streams: 2}, workload.CPUs{}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"both ways on one thread", record.TCPBidir, record.Options{}, workload.CPUs{Client: []int{0}, Server: []int{0}}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"backwards", record.TCPStream, record.Options{Reverse: true}, workload.CPUs{}, []workload.Pair{pair(a, s)}, 2},
		{"crr", record.TCPCRR, record.Options{Streams: 2}, workload.CPUs{}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"crr over IPv6", record.TCPCRR, record.Options{}, workload.CPUs{}, []workload.Pair{six}, 2},
		{"paced rr", record.PacedRR, record.Options{Rate: 200}, workload.CPUs{}, []workload.Pair{pair(a, s)}, 2},
		{"under load", record.LatencyUnderLoad, record.Options{Streams: 2}, workload.CPUs{}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"under load on one CPU", record.LatencyUnderLoad, record.Options{Streams: 2}, workload.CPUs{Client: []int{0}, Server: []int{0}}, []workload.Pair{pair(a, s)}, 2},
		{"datagrams", record.UDPStream, record.Options{Streams: 2, Bandwidth: 10e6}, workload.CPUs{}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"datagrams in trains over IPv6", record.UDPStream, record.Options{GSO: true}, workload.CPUs{Client: []int{0}, Server: []int{0}}, []workload.Pair{six}, 2},
		{"udp rr", record.UDPRR, record.Options{}, workload.CPUs{}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"http", record.HTTP, record.Options{Streams: 2}, workload.CPUs{Client: []int{0}, Server: []int{0}}, []workload.Pair{pair(a, s), pair(b, s)}, 3},
		{"http with connections over IPv6", record.HTTP, record.Options{NoKeepAlive: true}, workload.CPUs{}, []workload.Pair{six}, 2},
		{"client and server in one place", record.TCPRR, record.Options{}, workload.CPUs{}, []workload.Pair{pair(s, s)}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := testJob(t, c.work, c.pairs...)
			job.Options, job.CPUs = c.options, c.cpus
			opened, closed := watched(&job)
			before := startedAgents(a, b, s, z)
			r, trials := runTrial(t, job)
			// That of a trial which is given up may not have opened.
			if n := opened.Load(); n != closed.Load() || n < 1 || n > trials {
				t.Errorf("in %d trials, the window opened %d times, closed %d times", trials, n, closed.Load())
			}
			if got := startedAgents(a, b, s, z) - before; got != c.agents*int(trials) {
				t.Errorf("%d agents in %d trials, want %d in each", got, trials, c.agents)
			}
			checkResult(t, job, r)
			for _, e := range []*endpoint{a, b, s, z} {
				e.gone(t)
			}
		})
	}
}

// patienceOfTests is how often a test repeats a trial in which a thread may have had no CPU for too long.
const patienceOfTests = 6

// runTrial repeats a trial until the machine was not too busy for it; see patienceOfTests.
func runTrial(t *testing.T, job workload.Job) (r workload.Result, trials int32) {
	t.Helper()
	for trials = 1; ; trials++ {
		r, err := New().Run(t.Context(), job)
		if err == nil && (trials == patienceOfTests || !starved(r)) {
			return r, trials
		}
		if err != nil && (trials == patienceOfTests || !busy(err)) {
			t.Fatal(err)
		}
	}
}

// starved reports whether a flow received nothing in the window.
func starved(r workload.Result) bool {
	return slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == record.WarnStarved })
}

// busy reports whether an error can be the fault of a busy machine. Whoever does not run for seconds is missed.
func busy(err error) bool {
	return slices.ContainsFunc([]string{
		"no transaction ended before the load", "after the window had opened", "received nothing in the window", "no transaction was answered",
		"was answered: use a longer window", "no answer within", "instead of acknowledging the cookie",
	}, func(sign string) bool { return strings.Contains(err.Error(), sign) })
}

func startedAgents(endpoints ...*endpoint) (n int) {
	for _, e := range endpoints {
		e.mu.Lock()
		n += len(e.started)
		e.mu.Unlock()
	}
	return n
}

// checkResult checks the properties that hold for figures of any size.
func checkResult(t *testing.T, job workload.Job, r workload.Result) {
	t.Helper()
	w, o, err := trafficOf(job.Workload, job.Options)
	iferr.Fatal(t, err)
	kinds := w.flows(o)
	if want := len(kinds) * len(job.Pairs); len(r.Flows) != want {
		t.Fatalf("%d flows, want %d", len(r.Flows), want)
	}
	late := starved(r)
	var bytes, exchanges, crossed uint64
	for i, c := range r.Crossed {
		few := c.Conns == uint64(len(kinds))
		if many := job.Workload == record.TCPCRR || o.NoKeepAlive; c.Bytes == 0 || few == many {
			t.Errorf("%+v crossed for pair %d", c, i)
		}
		if crossed += c.Bytes; (c.Transactions > 0) != (w.exchanged != nil) {
			t.Errorf("%d transactions crossed for pair %d", c.Transactions, i)
		}
	}
	if len(r.Crossed) != len(job.Pairs) {
		t.Errorf("%d pairs crossed, want %d", len(r.Crossed), len(job.Pairs))
	}
	for i, f := range r.Flows {
		pair, k := job.Pairs[i/len(kinds)], kinds[i%len(kinds)]
		if f.Client != pair.Client.Name() || f.Server != pair.Server.Name() || f.Stream != i%len(kinds) || (f.TCP == nil) != (k.informs == "") {
			t.Errorf("flow %d is %+v", i, f)
		}
		if (f.Bytes > 0) != (k.counts == payloadBytes) || (f.Transactions > 0) != (k.counts == transactions) && !late {
			t.Errorf("flow %d counted %+v", i, f)
		}
		if want := job.Options.MessageSize; (f.Message > 0) != (k.counts == payloadBytes) || want > 0 && f.Message > 0 && f.Message != want {
			t.Errorf("flow %d wrote messages of %d bytes, want %d", i, f.Message, want)
		}
		bytes += f.Bytes
		exchanges += f.Transactions
	}
	if r.Window != job.Duration || r.Bytes == 0 || crossed <= r.Bytes {
		t.Errorf("%v, %d bytes of %d", r.Window, r.Bytes, crossed)
	}
	if r.Client.Total() <= 0 || r.Server.Total() <= 0 {
		t.Errorf("CPU time of client %v, of server %v", r.Client, r.Server)
	}
	checkMetrics(t, job, r)
	seconds := job.Duration.Seconds()
	if h := r.Latency; h != nil {
		edges := float64(len(r.Flows)) // a transaction across an edge is rounded, or counts on one side of it
		overdue := 0.0
		if kinds[0].open { // those that were due in the warm-up, and are answered in the window, have no latency
			overdue = float64(o.Rate) * job.Warmup.Seconds() * float64(len(r.Flows))
		}
		answered := float64(h.Count - h.Unfinished) // what stalls at the end of the window has a latency, and was not answered
		// If the client had no CPU between two transactions, at either edge, the next one is in part in the window, and its latency is not.
		apart := 2 * edges
		to, from := w.exchanged(o)
		if size := uint64(to + from); r.Bytes != exchanges*size+bytes || answered > float64(exchanges)+apart || answered < float64(exchanges)-apart-overdue {
			t.Errorf("%d transactions of %d bytes, %d bytes, latency %+v", exchanges, size, r.Bytes, h)
		}
		if got := r.Metrics[record.TransactionRate].Value; math.Abs(got*seconds-float64(exchanges)) > edges {
			t.Errorf("rate %v of %d transactions", got, exchanges)
		}
		if open := kinds[0].open; r.Covered < 0 || r.Covered > 1 || (r.Covered == 0) != open && !late {
			t.Errorf("%v of the window covered", r.Covered)
		}
		if h.Min > h.P50 || h.P50 > h.P90 || h.P90 > h.P99 || h.P99 > h.P999 || h.P999 > h.Max {
			t.Errorf("percentiles do not ascend: %+v", h)
		}
		if mean := r.Metrics[record.LatencyMean].Value * 1e9; mean < float64(h.Min) || mean > float64(h.Max) {
			t.Errorf("mean %v of %+v", mean, h)
		}
	}
	checkCourse(t, r.Course, float64(bytes), float64(exchanges), float64(len(r.Flows)))
	if got := r.Metrics[record.Throughput].Value; got != float64(bytes)*8/seconds {
		t.Errorf("throughput %v of %d bytes in the flows", got, bytes)
	}
}

// checkCourse checks that the parts of the window add up to the whole, except for rounding.
func checkCourse(t *testing.T, c *record.Course, bytes, exchanges, flows float64) {
	t.Helper()
	var parts, ended float64
	for _, n := range c.Bytes {
		parts += float64(n)
	}
	for _, n := range c.Transactions {
		ended += n
	}
	if math.Abs(parts-bytes) > flows+partsOfWindow || math.Abs(ended-exchanges) > flows+1 ||
		(len(c.Bytes) == partsOfWindow) != (bytes > 0) || (len(c.Transactions) == partsOfWindow) != (exchanges > 0) {
		t.Errorf("%+v in the parts of the window: %v of %v bytes, %v of %v transactions", c, parts, bytes, ended, exchanges)
	}
}

// checkMetrics checks which figures are present, and that shares are between 0 and 1.
func checkMetrics(t *testing.T, job workload.Job, r workload.Result) {
	t.Helper()
	stream := []string{record.Retransmits, record.Throughput}
	rr := []string{record.TransactionRate, record.LatencyMean, record.LatencyP50, record.LatencyP90, record.LatencyP99, record.LatencyP999, record.LatencyMax}
	connects := []string{record.ConnectP50, record.ConnectP99}
	want := map[string][]string{
		record.TCPStream:        stream,
		record.TCPBidir:         stream,
		record.TCPRR:            append([]string{record.Retransmits}, rr...),
		record.PacedRR:          append([]string{record.Retransmits}, rr...),
		record.LatencyUnderLoad: append(append([]string{record.LatencyAdded}, stream...), rr...),
		record.TCPCRR:           append(connects, rr...),
		record.UDPStream:        {record.Throughput, record.PacketRate, record.Loss, record.ReceiverDrops, record.Reordering, record.Duplicates, record.Jitter},
		record.UDPRR:            append([]string{record.Loss}, rr...),
		record.HTTP:             rr,
	}[job.Workload]
	if job.Options.NoKeepAlive {
		want = append(connects, rr...)
	}
	for _, name := range want {
		kind, _ := record.KindOf(name)
		m, ok := r.Metrics[name]
		if !ok || m.Unit != kind.Unit {
			t.Errorf("metric %s is %+v", name, m)
		}
		if kind.Unit == "ratio" && (m.Value < 0 || m.Value > 1) {
			t.Errorf("%s is %v", name, m.Value)
		}
	}
	if pps, ok := r.Metrics[record.PacketRate]; ok {
		if size := float64(r.Flows[0].Message); math.Abs(pps.Value*size*8/r.Metrics[record.Throughput].Value-1) > 1e-9 {
			t.Errorf("%v packets of %v bytes are %v", pps, size, r.Metrics[record.Throughput])
		}
	}
	if len(r.Metrics) != len(want) {
		t.Errorf("metrics %v, want %v", r.Metrics, want)
	}
	if loss := r.Metrics[record.Loss].Value + r.Metrics[record.ReceiverDrops].Value; loss > 1 {
		t.Errorf("more was lost than sent: %v", loss)
	}
}

// residence is an endpoint with an agent of its own.
type residence struct {
	*endpoint
	client *agent.Client
}

func (r *residence) Agent(context.Context) (*agent.Client, error) { return r.client, nil }

func newResidence(t *testing.T, name string) *residence {
	t.Helper()
	e := newEndpoint(name)
	c, err := agent.Start(t.Context(), e)
	iferr.Fatal(t, err)
	t.Cleanup(func() {
		iferr.Error(t, c.Close())
		e.gone(t)
	})
	return &residence{e, c}
}

func TestRunWithAgentsThatStay(t *testing.T) {
	c, s := newResidence(t, "c"), newResidence(t, "s")
	job := testJob(t, record.TCPRR, workload.Pair{Client: c, Server: s, Port: machine.FreePort(t)})
	for _, name := range []string{record.TCPRR, record.TCPStream, record.TCPRR} {
		job.Workload = name
		r, _ := runTrial(t, job)
		checkResult(t, job, r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	job.Watch.Open = cancel
	if _, err := New().Run(ctx, job); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	job.Watch.Open = nil
	runTrial(t, job) // works after a cancelled one
	if startedAgents(c.endpoint, s.endpoint) != 2 {
		t.Error("the tool started agents of its own")
	}
	job.Pairs[0].Server = c // one agent cannot be both ends
	r, _ := runTrial(t, job)
	checkResult(t, job, r)
}

func TestRunErrors(t *testing.T) {
	taken, err := net.Listen("tcp", ":0")
	iferr.Fatal(t, err)
	defer taken.Close()
	for _, c := range []struct {
		name, want string
		change     func(*workload.Job, *endpoint, *endpoint)
	}{
		{"server cannot start", "server s: agent has ended: exit status 3: out of coffee", func(_ *workload.Job, _, s *endpoint) { s.how = diesAtOnce }},
		{"server dies", "server s: agent has ended: exit status 3: out of coffee", func(_ *workload.Job, _, s *endpoint) { s.how = diesAtStart }},
		{"client dies", "client c: agent has ended: exit status 3: out of coffee", func(_ *workload.Job, c, _ *endpoint) { c.how = diesAtStart }},
		{"client sends nothing", "server s: flow 0 of client c received nothing in the window and for 4s after it", func(_ *workload.Job, c, _ *endpoint) { c.how = sendsNothing }},
		{"port in use", "server s: listen on 127.0.0.1:%d: address already in use", func(j *workload.Job, _, _ *endpoint) { j.Pairs[0].Port = taken.Addr().(*net.TCPAddr).Port }},
		{"no way to the server", "client c: connect to [::1]:%d: connection refused", func(j *workload.Job, _, s *endpoint) {
			s.how = listensElsewhere
			j.Pairs[0].Addr = loopback6
		}},
		{"unknown congestion control", `server s: listen on 127.0.0.1:%d: congestion control "carrierpigeon": not available here`, func(j *workload.Job, _, _ *endpoint) { j.Options.Congestion = "carrierpigeon" }},
		{"unknown CPU", "flow 0 of client c: pin to CPU 9999: invalid argument", func(j *workload.Job, _, _ *endpoint) { j.CPUs.Server = []int{9999} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, server := newEndpoint("c"), newEndpoint("s")
			job := testJob(t, record.TCPStream, workload.Pair{Client: client, Server: server, Port: machine.FreePort(t)})
			c.change(&job, client, server)
			opened, closed := watched(&job)
			want := c.want
			if strings.Contains(want, "%d") {
				want = fmt.Sprintf(want, job.Pairs[0].Port)
			}
			_, err := New().Run(t.Context(), job)
			for try := 1; try < patienceOfTests && err != nil && !strings.Contains(err.Error(), want) && busy(err); try++ {
				_, err = New().Run(t.Context(), job)
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v\ndoes not say %s", err, want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if opened.Load() != closed.Load() {
				t.Errorf("window opened %d times, closed %d times", opened.Load(), closed.Load())
			}
			client.gone(t)
			server.gone(t)
		})
	}
}

// TestFlowsWithoutCPUAreNotBroken stops the process of one end from before the window until after
// it, as a busy machine does to a thread.
func TestFlowsWithoutCPUAreNotBroken(t *testing.T) {
	for _, c := range []struct {
		work string
		stop role
		cpus []int
	}{
		{record.TCPStream, server, nil}, {record.TCPStream, client, nil}, {record.TCPRR, server, nil}, {record.TCPRR, client, nil},
		{record.TCPCRR, server, nil}, {record.UDPStream, server, nil}, {record.HTTP, server, nil}, {record.PacedRR, server, nil},
		{record.TCPBidir, server, []int{0}}, {record.TCPBidir, client, []int{0}},
	} {
		t.Run(fmt.Sprintf("%s %s", c.work, c.stop), func(t *testing.T) {
			var job workload.Job
			var r workload.Result
			stood := false
			for try := range 4 { // a busy machine stops a process late
				early := 400 * time.Millisecond << try
				client, server := newEndpoint("c"), newEndpoint("s")
				job = testJob(t, c.work, workload.Pair{Client: client, Server: server, Port: machine.FreePort(t)})
				job.Warmup, job.Duration = 2*early, 100*time.Millisecond
				job.CPUs = workload.CPUs{Client: c.cpus, Server: c.cpus}
				map[role]*endpoint{"client": client, "server": server}[c.stop].how = stands + ", " + early.String()
				var err error
				if r, err = New().Run(t.Context(), job); err != nil && (try == 3 || !busy(err)) {
					t.Fatal(err)
				}
				if stood = err == nil && (starved(r) || c.work == record.PacedRR); stood {
					break
				}
			}
			if !stood {
				t.Errorf("no warning that a flow received nothing in the window: %v", r.Warnings)
			}
			// A flow that is stopped between two transactions has none in the window, and its
			// coverage shows that.
			const little = 0.01 // of the window
			long := r.Latency != nil && r.Latency.Max >= int64(job.Duration)
			if rate, has := r.Metrics[record.TransactionRate]; has && (rate.Value <= 0 || !long && r.Covered > little) {
				t.Errorf("rate %v, latencies %+v, which cover %v of the window", rate, r.Latency, r.Covered)
			}
			if throughput, has := r.Metrics[record.Throughput]; has && throughput.Value <= 0 {
				t.Errorf("throughput %v", throughput)
			}
		})
	}
}

// TestRunCancelled gives up in the middle of a window that is longer than any test may take.
func TestRunCancelled(t *testing.T) {
	for _, d := range New().Drives {
		name := d.Workload
		t.Run(name, func(t *testing.T) {
			c, s := newEndpoint("c"), newEndpoint("s")
			job := testJob(t, name, workload.Pair{Client: c, Server: s, Port: machine.FreePort(t)})
			job.Duration = time.Hour
			opened, closed := watched(&job)
			ctx, cancel := context.WithCancel(t.Context())
			job.Watch.Open = func() { opened.Add(1); cancel() }
			if _, err := New().Run(ctx, job); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if opened.Load() != 1 || closed.Load() != 1 {
				t.Errorf("window opened %d times, closed %d times", opened.Load(), closed.Load())
			}
			c.gone(t)
			s.gone(t)
		})
	}
}

// TestSpinning has a server that spins for a known time: no transaction is faster than that.
func TestSpinning(t *testing.T) {
	c, s := newEndpoint("c"), newEndpoint("s")
	s.how = spins
	job := testJob(t, record.TCPRR, workload.Pair{Client: c, Server: s, Port: machine.FreePort(t)})
	r, _ := runTrial(t, job)
	checkResult(t, job, r)
	if p50 := r.Metrics[record.LatencyP50].Value; p50 < 0.001 {
		t.Errorf("p50 is %v s, and every answer takes a millisecond", p50)
	}
}
