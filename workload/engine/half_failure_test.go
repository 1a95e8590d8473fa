package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/record"
)

// Failures between the two halves, in this process.

// TestMuteFlow has a client that makes its connection and sends nothing. The window closes
// nevertheless.
func TestMuteFlow(t *testing.T) {
	for cold, warmup := range []time.Duration{0, 50 * time.Millisecond} {
		t.Run(warmup.String(), func(t *testing.T) {
			h, port := newHandlers(t), machine.FreePort(t)
			var r startResult
			// A busy machine may start it too late.
			for notice := leastNotice; notice == leastNotice || r.Late > 0 && notice < 10*time.Second; notice *= 4 {
				must[openResult](t, h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 1))
				connectFlow(t, port, 0)
				r = must[startResult](t, h, methodStart, startParams{
					Session: "server", Begins: nanotime() + int64(notice), Warmup: warmup, Duration: 500 * time.Millisecond, Wait: 300 * time.Millisecond,
				})
				must[stopResult](t, h, methodStop, stopParams{Session: "server"})
			}
			if len(r.Units) != 1 || r.Units[0] != 0 || r.Cold != cold || r.Silent != 1 || !slices.Equal(r.Mute, []int{0}) {
				t.Errorf("the window held %+v", r)
			}
		})
	}
}

func connectRaw(t *testing.T, port int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	iferr.Fatal(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// connectFlow connects a flow as a client does.
func connectFlow(t *testing.T, port, flow int) net.Conn {
	t.Helper()
	conn := connectRaw(t, port)
	conn.Write(hello(testCookie, flow))
	if answer := readByte(t, conn); answer != welcome {
		t.Fatalf("answered %d", answer)
	}
	return conn
}

func readByte(t *testing.T, conn net.Conn) byte {
	t.Helper()
	b := make([]byte, 1)
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
	return b[0]
}

func TestStrangers(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	must[openResult](t, h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 2))
	connectRaw(t, port).Close()
	for _, greeting := range [][]byte{
		[]byte("GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n"),
		hello([]byte("another sixteen!"), 0),
		hello(testCookie, 2),
	} {
		conn := connectRaw(t, port)
		conn.Write(greeting)
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%q was answered %d bytes", greeting, n)
		}
	}
	params := connectParams(record.TCPStream, record.Options{}, loopback4, port, 2)
	if _, err := ask[openResult](t.Context(), h, methodConnect, params); err != nil {
		t.Fatalf("strangers kept the client out: %v", err)
	}
	again := connectRaw(t, port)
	again.Write(hello(testCookie, 0))
	if _, err := again.Read(make([]byte, 1)); err == nil {
		t.Error("a flow was given away twice")
	}
	connectRaw(t, port) // sends nothing
	left := must[stopResult](t, h, methodStop, stopParams{Session: "server"})
	if left.Strangers < 5 || left.Strangers > 6 { // the last may not have been accepted yet
		t.Errorf("%d strangers, want 5 or 6", left.Strangers)
	}
}

func TestConnectErrors(t *testing.T) {
	answering := func(answer string) func(net.Conn) {
		return func(c net.Conn) { io.WriteString(c, answer); c.Close() }
	}
	for _, c := range []struct {
		name, want string
		accept     func(net.Conn) // nil: nobody listens
	}{
		{"nobody", "connection refused", nil},
		{"closes", "closed the connection instead of acknowledging", answering("")},
		{"another protocol", "does not speak nettoll's protocol", answering("220 smtp")},
		{"refuses", "server: no CPU", answering("\x01server: no CPU")},
		{saysNothing, "acknowledge the cookie: no answer within 1s", func(net.Conn) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == saysNothing {
				answersWithin(t, time.Second)
			}
			h, port := newHandlers(t), machine.FreePort(t)
			if c.accept != nil {
				l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
				iferr.Fatal(t, err)
				accepted := make(chan struct{})
				go func() {
					defer close(accepted)
					if conn, err := l.Accept(); err == nil {
						io.ReadFull(conn, make([]byte, helloSize))
						c.accept(conn)
						t.Cleanup(func() { conn.Close() })
					}
				}()
				defer func() { l.Close(); <-accepted }()
			}
			_, err := ask[openResult](t.Context(), h, methodConnect, connectParams(record.TCPStream, record.Options{}, loopback4, port, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v does not say %q", err, c.want)
			}
			if prefix := fmt.Sprintf("connect to 127.0.0.1:%d: ", port); !strings.HasPrefix(err.Error(), prefix) {
				t.Errorf("error %q does not begin with %q", err, prefix)
			}
		})
	}
}

const saysNothing = "says nothing"

// answersWithin changes handshakeLimit for a test.
func answersWithin(t *testing.T, limit time.Duration) {
	usual := handshakeLimit
	handshakeLimit = limit
	t.Cleanup(func() { handshakeLimit = usual })
}

func TestOptionsThatTheKernelRefuses(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	unknown := record.Options{Congestion: "carrierpigeon"}
	for _, method := range []string{methodServe, methodConnect} {
		params := serveParams(record.TCPStream, unknown, loopback4, port, 1)
		if method == methodConnect {
			params = connectParams(record.TCPStream, unknown, loopback4, port, 1)
		}
		_, err := ask[openResult](t.Context(), h, method, params)
		if err == nil || !strings.Contains(err.Error(), `"carrierpigeon": not available here (available: `) || !strings.Contains(err.Error(), "reno") {
			t.Errorf("%s: error %v", method, err)
		}
	}
	params := connectParams(record.TCPStream, record.Options{}, loopback4, port, 1)
	params.Flows[0].CPU = 1 << 14
	if _, err := ask[openResult](t.Context(), h, methodConnect, params); err == nil || !strings.Contains(err.Error(), "pin to CPU 16384") {
		t.Errorf("CPU that is not there: error %v", err)
	}
}

func TestWindowLimited(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	r := must[openResult](t, h, methodServe, serveParams(record.TCPStream, record.Options{Window: 1 << 30}, loopback4, port, 1))
	if len(r.Warnings) != 2 || r.Warnings[0].Code != "window-limited" {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

func TestStartErrors(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	start := func(p startParams) error {
		_, err := ask[startResult](t.Context(), h, methodStart, p)
		return err
	}
	must[openResult](t, h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 2))
	for _, c := range []struct {
		want string
		p    startParams
	}{
		{`no session "nobody"`, startParams{Session: "nobody", Duration: time.Second}},
		{"0 of 2 flows are connected", startParams{Session: "server", Duration: time.Second}},
		{"longer than 0", startParams{Session: "server"}},
	} {
		if err := start(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v does not say %q", err, c.want)
		}
	}
	if _, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 1)); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("port in use: error %v", err)
	}
	if _, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, machine.FreePort(t), 1)); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("session in use: error %v", err)
	}
	if _, err := ask[stopResult](t.Context(), h, methodStop, stopParams{Session: "nobody"}); err != nil {
		t.Errorf("stop of nobody: %v", err)
	}
}

// TestCancelledStart gives up in the middle of a window that is longer than any test may take.
func TestCancelledStart(t *testing.T) {
	h := newHandlers(t)
	openBoth(t, h, record.TCPStream, record.Options{}, loopback4, machine.FreePort(t), 1)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	errs := make(chan error, 2)
	for _, session := range []string{"server", "client"} {
		go func() {
			_, err := ask[startResult](ctx, h, methodStart, startParams{Session: session, Duration: time.Hour})
			errs <- err
		}()
	}
	for range 2 {
		// One end may see the other leave before it is cancelled itself.
		if err := <-errs; err == nil || !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "closed the connection") {
			t.Errorf("error %v", err)
		}
	}
}

// TestTooManyFlows requests more flows than a process can have.
func TestTooManyFlows(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	params := serveParams(record.TCPStream, record.Options{}, loopback4, port, maxFlows+1)
	if _, err := ask[openResult](t.Context(), h, methodServe, params); err == nil || !strings.Contains(err.Error(), "at most 32768") {
		t.Errorf("error %v", err)
	}
}

// TestThreadsForAllFlows checks that Go does not end a process that has as many flows as it can have.
func TestThreadsForAllFlows(t *testing.T) {
	leave, err := new(process).enter(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if most := debug.SetMaxThreads(math.MaxInt32); most <= maxFlows {
		t.Errorf("the process may have %d threads, and %d flows", most, maxFlows)
	}
}

// TestCollectorOfFlows checks that the environment decides neither when the collector runs for flows nor how often it
// does for managed ones.
func TestCollectorOfFlows(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(1<<40), debug.SetGCPercent(17) // as GOMEMLIMIT and GOGC would
	t.Cleanup(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
	for _, managed := range []bool{false, true} {
		leave, err := new(process).enter(nil, managed)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{false: -1, true: usualGC}[managed]
		if got := debug.SetGCPercent(want); got != want {
			t.Errorf("managed=%v: GC percentage %d, want %d", managed, got, want)
		}
		if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
			t.Errorf("managed=%v: the collector keeps to %d bytes", managed, got)
		}
		leave()
		if got := debug.SetGCPercent(17); got != agent.GCPercent {
			t.Errorf("managed=%v: GC percentage %d after the session, want %d", managed, got, agent.GCPercent)
		}
	}
}

// TestCollectorBesideFlows has sessions come and go beside one whose flows would keep the world from stopping: the collector is not
// touched.
func TestCollectorBesideFlows(t *testing.T) {
	percent := debug.SetGCPercent(17)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	var p process
	leave, err := p.enter(nil, false)
	iferr.Fatal(t, err)
	const mark = 18
	debug.SetGCPercent(mark)
	for _, managed := range []bool{false, true} {
		leaveOther, err := p.enter(nil, managed)
		iferr.Fatal(t, err)
		leaveOther()
		if got := debug.SetGCPercent(mark); got != mark {
			t.Errorf("managed=%v: it was set to %d", managed, got)
		}
	}
	leave()
	if got := debug.SetGCPercent(mark); got != agent.GCPercent {
		t.Errorf("after the last session it is %d", got)
	}
}
