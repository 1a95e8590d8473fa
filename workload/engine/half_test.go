package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/record"
)

// The tests of this file run both halves of a trial in this process.

type handlers map[string]agent.Handler

// newHandlers gives handlers whose sessions end with the test.
func newHandlers(t *testing.T) handlers {
	t.Helper()
	leavesNothing(t)
	h := &half{process: &process{}, sessions: map[string]*session{}}
	t.Cleanup(h.endAll)
	return h.handlers()
}

func ask[Out any](ctx context.Context, h handlers, method string, in any) (out Out, err error) {
	params, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	result, err := h[method](ctx, params)
	if err != nil {
		return out, err
	}
	return result.(Out), nil
}

var testCookie = []byte("sixteen bytes ok")

func serveParams(workload string, o record.Options, addr netip.Addr, port, flows int) openParams {
	wildcard := netip.IPv4Unspecified()
	if addr.Is6() {
		wildcard = netip.IPv6Unspecified()
	}
	p := openParams{Session: "server", Workload: workload, Options: o, Cookie: testCookie, Listen: netip.AddrPortFrom(wildcard, uint16(port))}
	for i := range flows {
		p.Flows = append(p.Flows, flowSpec{Label: fmt.Sprintf("flow %d of client x", i), CPU: -1})
	}
	return p
}

func connectParams(workload string, o record.Options, addr netip.Addr, port, flows int) openParams {
	p := serveParams(workload, o, addr, port, flows)
	p.Session, p.Listen = "client", netip.AddrPort{}
	for i := range p.Flows {
		p.Flows[i].To = netip.AddrPortFrom(addr, uint16(port))
		p.Flows[i].Index = i
	}
	return p
}

func TestTrialInOneProcess(t *testing.T) {
	for _, c := range []struct {
		name     string
		workload string
		options  record.Options
		flows    int
	}{
		{"stream", record.TCPStream, record.Options{}, 1},
		{"streams", record.TCPStream, record.Options{}, 3},
		{"stream of bytes", record.TCPStream, record.Options{MessageSize: 1}, 1},
		{"stream zero-copy", record.TCPStream, record.Options{ZeroCopy: true}, 2},
		{"stream zero-copy of bytes", record.TCPStream, record.Options{ZeroCopy: true, MessageSize: 1}, 1},
		{"stream discarded", record.TCPStream, record.Options{SkipRxCopy: true}, 2},
		{"stream in a small window", record.TCPStream, record.Options{Window: 16 << 10, MessageSize: 1 << 20}, 1},
		{"rr", record.TCPRR, record.Options{}, 1},
		{"rrs", record.TCPRR, record.Options{}, 3},
		{"rr of unequal sizes", record.TCPRR, record.Options{RequestSize: 300_000, ResponseSize: 7}, 1},
		{"rr beyond its buffers", record.TCPRR, record.Options{RequestSize: 7, ResponseSize: 1 << 20, Window: 8 << 10}, 1},
		{"reno", record.TCPStream, record.Options{Congestion: "reno"}, 1},
	} {
		for _, addr := range []netip.Addr{loopback4, loopback6} {
			t.Run(fmt.Sprintf("%s/%v", c.name, addr), func(t *testing.T) {
				h := newHandlers(t)
				runInOneProcess(t, h, c.workload, c.options, addr, c.flows)
			})
		}
	}
}

func runInOneProcess(t *testing.T, h handlers, workload string, o record.Options, addr netip.Addr, flows int) {
	t.Helper()
	ctx, port := t.Context(), freePort(t)
	if _, err := ask[openResult](ctx, h, methodServe, serveParams(workload, o, addr, port, flows)); err != nil {
		t.Fatal(err)
	}
	if _, err := ask[openResult](ctx, h, methodConnect, connectParams(workload, o, addr, port, flows)); err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		result startResult
		err    error
	}
	outcomes := map[string]chan outcome{"server": make(chan outcome, 1), "client": make(chan outcome, 1)}
	for session, done := range outcomes {
		go func() {
			r, err := ask[startResult](ctx, h, methodStart, startParams{Session: session, Warmup: 100 * time.Millisecond, Duration: 200 * time.Millisecond})
			done <- outcome{r, err}
		}()
	}
	results := map[string]startResult{}
	for session, done := range outcomes {
		o := <-done
		if o.err != nil {
			t.Errorf("%s: %v", session, o.err)
		}
		results[session] = o.result
	}
	left := map[string]stopResult{}
	for _, session := range []string{"client", "server"} {
		r, err := ask[stopResult](ctx, h, methodStop, stopParams{Session: session})
		if err != nil {
			t.Errorf("%s: %v", session, err)
		}
		left[session] = r
	}
	if t.Failed() {
		return
	}
	measured := map[string]string{record.TCPStream: "server", record.TCPRR: "client"}[workload]
	checkFlows(t, results[measured], left[measured], flows)
	for i, info := range left["client"].TCP {
		if info == nil || info.SndMSS == 0 || info.Congestion == "" || (o.Congestion != "" && info.Congestion != o.Congestion) {
			t.Errorf("TCP_INFO of flow %d is %+v", i, info)
		}
	}
	if left["server"].Strangers != 0 {
		t.Errorf("%d strangers", left["server"].Strangers)
	}
}

// checkFlows checks what holds for figures of any size.
func checkFlows(t *testing.T, window startResult, left stopResult, flows int) {
	t.Helper()
	if len(window.Units) != flows || len(left.Totals) != flows {
		t.Fatalf("%d flows in the window, %d at the end, want %d", len(window.Units), len(left.Totals), flows)
	}
	var sum int64
	for i, n := range window.Units {
		if n <= 0 || n >= left.Totals[i] {
			t.Errorf("flow %d: %d in the window of %d with the warm-up", i, n, left.Totals[i])
		}
		sum += n
	}
	if window.Latencies == "" {
		return
	}
	h, err := mergeHistograms([]string{window.Latencies})
	if err != nil {
		t.Fatal(err)
	}
	if h.TotalCount() != sum {
		t.Errorf("%d latencies of %d transactions", h.TotalCount(), sum)
	}
}

func TestTrialsOneAfterAnother(t *testing.T) {
	h := newHandlers(t)
	for range 3 {
		runInOneProcess(t, h, record.TCPRR, record.Options{}, loopback4, 1)
		runInOneProcess(t, h, record.TCPStream, record.Options{}, loopback4, 2)
	}
}

// TestSilentFlow has a client that makes its connection and sends nothing.
func TestSilentFlow(t *testing.T) {
	for _, c := range []struct {
		name   string
		warmup time.Duration
		want   string
	}{
		{"warm-up", 50 * time.Millisecond, "flow 0 of client x had received nothing when the window opened"},
		{"no warm-up", 0, "flow 0 of client x received nothing in the window"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, port := newHandlers(t), freePort(t)
			if _, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 1)); err != nil {
				t.Fatal(err)
			}
			conn := connectRaw(t, port)
			conn.Write(hello(testCookie, 0))
			if answer := readByte(t, conn); answer != welcome {
				t.Fatalf("answered %d", answer)
			}
			_, err := ask[startResult](t.Context(), h, methodStart, startParams{Session: "server", Warmup: c.warmup, Duration: 50 * time.Millisecond})
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func connectRaw(t *testing.T, port int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
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
	h, port := newHandlers(t), freePort(t)
	ctx := t.Context()
	if _, err := ask[openResult](ctx, h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 2)); err != nil {
		t.Fatal(err)
	}
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
	if _, err := ask[openResult](ctx, h, methodConnect, params); err != nil {
		t.Fatalf("strangers kept the client out: %v", err)
	}
	again := connectRaw(t, port)
	again.Write(hello(testCookie, 0))
	if _, err := again.Read(make([]byte, 1)); err == nil {
		t.Error("a flow was given away twice")
	}
	connectRaw(t, port) // says nothing
	left, err := ask[stopResult](ctx, h, methodStop, stopParams{Session: "server"})
	if err != nil {
		t.Fatal(err)
	}
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
		{"closes", "closed it instead of acknowledging", answering("")},
		{"another protocol", "does not speak nettoll's protocol", answering("220 smtp")},
		{"refuses", "server: no CPU", answering("\x01server: no CPU")},
		{"says nothing", "acknowledge the cookie: no answer within 2s", func(net.Conn) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, port := newHandlers(t), freePort(t)
			if c.accept != nil {
				l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
				if err != nil {
					t.Fatal(err)
				}
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

func TestOptionsThatTheKernelRefuses(t *testing.T) {
	h, port := newHandlers(t), freePort(t)
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
	h, port := newHandlers(t), freePort(t)
	r, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.TCPStream, record.Options{Window: 1 << 30}, loopback4, port, 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) != 2 || r.Warnings[0].Code != WarnWindow {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

func TestStartErrors(t *testing.T) {
	h, port := newHandlers(t), freePort(t)
	start := func(p startParams) error {
		_, err := ask[startResult](t.Context(), h, methodStart, p)
		return err
	}
	if _, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 2)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		p    startParams
	}{
		{`no session "nobody"`, startParams{Session: "nobody", Duration: time.Second}},
		{"0 of 2 flows are connected", startParams{Session: "server", Duration: time.Second}},
		{"longer than nothing", startParams{Session: "server"}},
	} {
		if err := start(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v does not say %q", err, c.want)
		}
	}
	if _, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 1)); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("port in use: error %v", err)
	}
	if _, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, freePort(t), 1)); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("session in use: error %v", err)
	}
	if _, err := ask[stopResult](t.Context(), h, methodStop, stopParams{Session: "nobody"}); err != nil {
		t.Errorf("stop of nobody: %v", err)
	}
}

// TestCancelledStart gives up in the middle of a window that is longer than any
// test may take.
func TestCancelledStart(t *testing.T) {
	h, port := newHandlers(t), freePort(t)
	if _, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.TCPStream, record.Options{}, loopback4, port, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := ask[openResult](t.Context(), h, methodConnect, connectParams(record.TCPStream, record.Options{}, loopback4, port, 1)); err != nil {
		t.Fatal(err)
	}
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
		// One end may see the other go before it is told itself.
		if err := <-errs; err == nil || !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "closed the connection") {
			t.Errorf("error %v", err)
		}
	}
}
