package engine

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/record"
)

// TestShare checks which flows are served by one thread.
func TestShare(t *testing.T) {
	stream, back, other := upload(), download(), exchange()
	for _, c := range []struct {
		name    string
		kinds   []kind
		cpus    []int
		options record.Options
		at      role
		want    string // flows with the same letter share a thread; - has its own
	}{
		{"one stream", []kind{stream}, []int{1}, record.Options{}, client, "-"},
		{"a CPU each", []kind{stream, stream}, []int{1, 2}, record.Options{}, client, "--"},
		{"three on two CPUs", []kind{stream, stream, stream}, []int{1, 2, 1}, record.Options{}, client, "a-a"},
		{"four on two CPUs", []kind{stream, stream, stream, stream}, []int{1, 2, 1, 2}, record.Options{}, server, "abab"},
		{"anywhere", []kind{stream, stream}, []int{-1, -1}, record.Options{}, client, "--"},
		{"both ways", []kind{stream, back}, []int{1, 1}, record.Options{}, client, "aa"},
		{"an exchange among streams", []kind{other, stream, stream}, []int{1, 1, 1}, record.Options{}, client, "-aa"},
		{"exchanges", []kind{other, other}, []int{1, 1}, record.Options{}, client, "--"},
		{"senders of a given rate", []kind{stream, stream}, []int{1, 1}, record.Options{Bandwidth: 1e6}, client, "--"},
		{"receivers of a given rate", []kind{stream, stream}, []int{1, 1}, record.Options{Bandwidth: 1e6}, server, "aa"},
	} {
		s := &session{role: c.at, options: c.options}
		for i, k := range c.kinds {
			s.flows = append(s.flows, &flow{kind: k, cpu: c.cpus[i], session: s})
		}
		s.share()
		got, letters := "", map[*poller]byte{}
		for _, f := range s.flows {
			if f.poller == nil {
				got += "-"
				continue
			}
			if letters[f.poller] == 0 {
				letters[f.poller] = byte('a' + len(letters))
			}
			got += string(letters[f.poller])
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// twoCPUs returns two CPUs that this process may use, the same one twice if it may use no other.
func twoCPUs(t *testing.T) (a, b int) {
	t.Helper()
	var set unix.CPUSet
	iferr.Fatal(t, unix.SchedGetaffinity(0, &set))
	var all []int
	for cpu := 0; len(all) < 2 && len(all) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	return all[0], all[len(all)-1]
}

// TestThreadsOfFlows notes on which threads the steps of flows are made. All flows have to count.
func TestThreadsOfFlows(t *testing.T) {
	a, b := twoCPUs(t)
	for _, c := range []struct {
		name    string
		work    string
		options record.Options
		cpus    []int
		share   [2]int // two flows that share a thread, where there are any
		own     int    // one that does not share theirs; -1: there is none
	}{
		{"streams of a CPU", record.TCPStream, record.Options{}, []int{a, a, a}, [2]int{0, 2}, -1},
		{"streams of a CPU, and one without", record.TCPStream, record.Options{}, []int{a, -1, a}, [2]int{0, 2}, 1},
		{"streams of two CPUs", record.TCPStream, record.Options{Reverse: true}, []int{a, b, a, b}, [2]int{0, 2}, 1},
		{"zero-copy", record.TCPStream, record.Options{ZeroCopy: true, SkipRxCopy: true}, []int{a, a}, [2]int{0, 1}, -1},
		{"bytes", record.TCPStream, record.Options{MessageSize: 1}, []int{a, a}, [2]int{0, 1}, -1},
		{"in small windows", record.TCPStream, record.Options{Window: 16 << 10, MessageSize: 1 << 20}, []int{a, a}, [2]int{0, 1}, -1},
		{"streams anywhere", record.TCPStream, record.Options{}, []int{-1, -1}, [2]int{0, 0}, 1},
		{"exchanges", record.TCPRR, record.Options{}, []int{a, a}, [2]int{0, 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.own >= 0 && c.cpus[c.own] == b && a == b {
				t.Skip("there is one CPU")
			}
			half, port := newHalf(t), machine.FreePort(t)
			h := handlers(half.handlers())
			serve := serveParams(c.work, c.options, loopback4, port, len(c.cpus))
			connect := connectParams(c.work, c.options, loopback4, port, len(c.cpus))
			for i, cpu := range c.cpus {
				serve.Flows[i].CPU, connect.Flows[i].CPU = cpu, cpu
			}
			threads := map[string][]int{}
			results := startBoth(t, h, func() {
				must[openResult](t, h, methodServe, serve)
				must[openResult](t, h, methodConnect, connect)
				for name, s := range half.sessions {
					threads[name] = noteThreads(s)
				}
			})
			left := stopBoth(t, h)
			w, o, err := trafficOf(c.work, c.options)
			iferr.Fatal(t, err)
			k := w.flows(o)[0]
			checkFlows(t, k, results[string(k.measured)], left[string(k.measured)], len(c.cpus))
			for i, info := range left[string(k.informs)].TCP {
				if info == nil {
					t.Errorf("flow %d has no TCP_INFO", i)
				}
			}
			for name, of := range threads {
				if of[c.share[0]] != of[c.share[1]] || c.own >= 0 && of[c.own] == of[c.share[0]] {
					t.Errorf("%s: the threads are %v", name, of)
				}
			}
		})
	}
}

// noteThreads has each step of a session's flows note the thread that makes it.
func noteThreads(s *session) []int {
	s.mu.Lock() // the flows are equipped under it
	defer s.mu.Unlock()
	of := make([]int, len(s.flows))
	for i, f := range s.flows {
		step := f.step
		f.step = func(f *flow) (int64, syscall.Errno) {
			of[i] = unix.Gettid()
			return step(f)
		}
	}
	return of
}

// TestSilenceOfOneFlow has two receivers on one thread, one of which gets nothing.
func TestSilenceOfOneFlow(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	cpu, _ := twoCPUs(t)
	serve := serveParams(record.TCPStream, record.Options{}, loopback4, port, 2)
	serve.Flows[0].CPU, serve.Flows[1].CPU = cpu, cpu
	// On a busy machine the thread may get no CPU in a short warm-up or window.
	for long := 50 * time.Millisecond; ; long *= 4 {
		must[openResult](t, h, methodServe, serve)
		var conns []net.Conn
		for i := range 2 {
			conns = append(conns, connectFlow(t, port, i))
		}
		go func() {
			for err := error(nil); err == nil; {
				_, err = conns[1].Write(make([]byte, 1<<16))
			}
		}()
		r := must[startResult](t, h, methodStart, startParams{Session: "server", Warmup: long, Duration: long, Wait: min(6*long, lastWait)})
		must[stopResult](t, h, methodStop, stopParams{Session: "server"})
		if len(r.Units) == 2 && r.Units[0] == 0 && r.Units[1] > 0 && r.Cold == 1 && r.Silent == 1 && slices.Equal(r.Mute, []int{0}) {
			return
		}
		if long > 3*time.Second {
			t.Fatalf("the window held %+v", r)
		}
	}
}

// TestFlowsOfAThreadFailAlone has two senders on one thread, one of whose receivers goes away while
// the other reads nothing until then.
func TestFlowsOfAThreadFailAlone(t *testing.T) {
	h := newHandlers(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	iferr.Fatal(t, err)
	defer l.Close()
	conns := make(chan net.Conn, 2)
	go func() {
		for range 2 {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			io.ReadFull(conn, make([]byte, helloSize))
			conn.Write([]byte{welcome})
			conns <- conn
		}
	}()
	cpu, _ := twoCPUs(t)
	params := connectParams(record.TCPStream, record.Options{}, loopback4, l.Addr().(*net.TCPAddr).Port, 2)
	params.Flows[0].CPU, params.Flows[1].CPU = cpu, cpu
	must[openResult](t, h, methodConnect, params)
	gone, stays := <-conns, <-conns
	defer stays.Close()
	failed := make(chan error, 1)
	go func() {
		_, err := ask[startResult](t.Context(), h, methodStart, startParams{Session: "client", Duration: time.Minute})
		failed <- err
	}()
	readByte(t, gone)
	gone.Close()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "of client x") {
		t.Errorf("error %v does not name the flow", err)
	}
	const buffered = 64 << 20 // more than the sockets hold
	if n, err := io.CopyN(io.Discard, stays, buffered); err != nil {
		t.Errorf("the other flow sent %d bytes: %v", n, err)
	}
	must[stopResult](t, h, methodStop, stopParams{Session: "client"})
}

// TestPatientFlowsSettleWithinTheWarmup checks that settling neither moves nor replaces an edge of
// the window.
func TestPatientFlowsSettleWithinTheWarmup(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := &session{role: server, closed: make(chan struct{})}
		s.open.Store(1)
		f := &flow{kind: upload(), session: s, fd: -1, patient: true}
		f.schedule(100, 1000, 2000)
		step := func(at, bytes int64) {
			stepTo(f, at, bytes)
		}
		if !late {
			step(920, 10)
			step(960, 10)
			if f.next != 0 || f.cutAt != 1000 {
				t.Fatalf("after settling: %d edges passed, the next at %d", f.next, f.cutAt)
			}
		}
		want := f.total
		step(1000, 100)
		step(1900, 100)
		step(2000, 100)
		if f.before != want || f.inside() != 200 || !f.closed.Load() {
			t.Errorf("late=%v: before=%d inside=%v closed=%v, want %d, 200 and closed", late, f.before, f.inside(), f.closed.Load(), want)
		}
	}
}

// TestReceiverUnderBBR checks that a receiver under BBR is recognized: it settles where it has a
// thread of its own.
func TestReceiverUnderBBR(t *testing.T) {
	for control, want := range map[string]bool{"reno": false, "bbr": true} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		iferr.Fatal(t, err)
		defer unix.Close(fd)
		err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, control)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) {
			t.Logf("%s: %v", control, err)
			continue
		}
		iferr.Fatal(t, err)
		f := &flow{fd: fd}
		if _, err := newReceiver(f, record.Options{MessageSize: 1000}); err != nil {
			t.Fatal(err)
		}
		if f.patient != want {
			t.Errorf("%s: it settles: %v", control, f.patient)
		}
		f = &flow{fd: fd, poller: &poller{}}
		if _, err := newReceiver(f, record.Options{MessageSize: 1000}); err != nil || f.patient {
			t.Errorf("%s: with others on its thread it settles: %v, error %v", control, f.patient, err)
		}
	}
}
