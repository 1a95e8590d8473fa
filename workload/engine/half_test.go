package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// The tests of this file run both halves of a trial in this process.

type handlers map[string]agent.Handler

// newHalf returns a half whose sessions end with the test.
func newHalf(t *testing.T) *half {
	t.Helper()
	leavesNothing(t)
	h := &half{process: &process{}, sessions: map[string]*session{}}
	t.Cleanup(h.endAll)
	return h
}

func newHandlers(t *testing.T) handlers {
	t.Helper()
	return newHalf(t).handlers()
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

// must is ask for what has to succeed.
func must[Out any](t *testing.T, h handlers, method string, in any) Out {
	t.Helper()
	out, err := ask[Out](t.Context(), h, method, in)
	iferr.Fatal(t, err)
	return out
}

var testCookie = []byte("sixteen bytes ok")

func serveParams(workload string, o record.Options, addr netip.Addr, port, flows int) openParams {
	p := openParams{Session: "server", Workload: workload, Options: o, Cookie: testCookie, Listen: []netip.AddrPort{netip.AddrPortFrom(addr, uint16(port))}}
	for i := range flows {
		p.Flows = append(p.Flows, flowSpec{Label: fmt.Sprintf("flow %d of client x", i), CPU: -1})
	}
	return p
}

func connectParams(workload string, o record.Options, addr netip.Addr, port, flows int) openParams {
	p := serveParams(workload, o, addr, port, flows)
	p.Session, p.Listen = "client", nil
	for i := range p.Flows {
		p.Flows[i].To = netip.AddrPortFrom(addr, uint16(port))
		p.Flows[i].Index = i
	}
	return p
}

// openBoth opens the two halves of a trial.
func openBoth(t *testing.T, h handlers, workload string, o record.Options, addr netip.Addr, port, flows int) {
	t.Helper()
	must[openResult](t, h, methodServe, serveParams(workload, o, addr, port, flows))
	must[openResult](t, h, methodConnect, connectParams(workload, o, addr, port, flows))
}

// stopBoth stops the two halves and returns what was left of them.
func stopBoth(t *testing.T, h handlers) map[string]stopResult {
	t.Helper()
	client := must[stopResult](t, h, methodStop, stopParams{Session: "client"})
	return map[string]stopResult{"client": client, "server": must[stopResult](t, h, methodStop, stopParams{Session: "server"})}
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
		{"stream back", record.TCPStream, record.Options{Reverse: true}, 2},
		{"crr", record.TCPCRR, record.Options{}, 1},
		{"crrs of unequal sizes", record.TCPCRR, record.Options{RequestSize: 100_000, ResponseSize: 200_000, Window: 16 << 10, Congestion: "reno"}, 3},
		{"paced rr", record.PacedRR, record.Options{Rate: 500}, 2},
		{"datagrams", record.UDPStream, record.Options{}, 2},
		{"datagrams back", record.UDPStream, record.Options{Reverse: true, Bandwidth: 10e6}, 2},
		{"small datagrams paced", record.UDPStream, record.Options{MessageSize: 24, Bandwidth: 1e6}, 1},
		{"largest datagrams", record.UDPStream, record.Options{MessageSize: record.MaxDatagram, Window: 1 << 20}, 1},
		{"datagrams in trains", record.UDPStream, record.Options{GSO: true}, 1},
		{"datagrams in trains paced", record.UDPStream, record.Options{GSO: true, Bandwidth: 100e6, MessageSize: 1000}, 2},
		{"udp rr", record.UDPRR, record.Options{}, 2},
		{"udp rr of unequal sizes", record.UDPRR, record.Options{RequestSize: 16, ResponseSize: 60_000}, 1},
		{"http", record.HTTP, record.Options{}, 2},
		{"http with connections", record.HTTP, record.Options{NoKeepAlive: true, ResponseSize: 100_000}, 2},
	} {
		for _, addr := range []netip.Addr{loopback4, loopback6} {
			t.Run(fmt.Sprintf("%s/%v", c.name, addr), func(t *testing.T) {
				runInOneProcess(t, newHandlers(t), c.workload, c.options, addr, c.flows)
			})
		}
	}
}

func runInOneProcess(t *testing.T, h handlers, workload string, o record.Options, addr netip.Addr, flows int) {
	t.Helper()
	port := machine.FreePort(t)
	results := startBoth(t, h, func() { openBoth(t, h, workload, o, addr, port, flows) })
	left := stopBoth(t, h)
	if t.Failed() {
		return
	}
	w, _, err := trafficOf(workload, o)
	iferr.Fatal(t, err)
	k := w.flows(record.Options{Streams: 1})[0]
	if o.Reverse {
		k = w.flows(record.Options{Streams: 1, Reverse: true})[0]
	}
	measured := string(k.measured)
	checkFlows(t, k, results[measured], left[measured], flows)
	for i, info := range left[string(k.informs)].TCP {
		if info == nil || info.SndMSS == 0 || info.Congestion == "" || (o.Congestion != "" && info.Congestion != o.Congestion) {
			t.Errorf("TCP_INFO of flow %d is %+v", i, info)
		}
	}
	if left["server"].Strangers != 0 {
		t.Errorf("%d strangers", left["server"].Strangers)
	}
}

// startBoth opens the two halves, starts them and returns the results of their windows. If one of them was started too late,
// or a flow got nothing in the window, the machine may have been too busy: it does so again with longer notice.
func startBoth(t *testing.T, h handlers, open func()) map[string]startResult {
	t.Helper()
	for notice := leastNotice; ; notice *= 4 {
		open()
		results, err := startIn(t, h, notice)
		starved := false
		for _, r := range results {
			starved = starved || r.Late > 0 || r.Silent > 0
		}
		if !starved || notice > 5*time.Second {
			iferr.Error(t, err)
			return results
		}
		stopBoth(t, h)
	}
}

// startIn starts the two halves after a notice.
func startIn(t *testing.T, h handlers, notice time.Duration) (results map[string]startResult, err error) {
	t.Helper()
	ctx, begins := t.Context(), nanotime()+int64(notice)
	type outcome struct {
		result startResult
		err    error
	}
	outcomes := map[string]chan outcome{"server": make(chan outcome, 1), "client": make(chan outcome, 1)}
	for session, done := range outcomes {
		go func() {
			r, err := ask[startResult](ctx, h, methodStart, startParams{Session: session, Begins: begins, Warmup: 100 * time.Millisecond, Duration: 200 * time.Millisecond})
			done <- outcome{r, err}
		}()
	}
	results = map[string]startResult{}
	for session, done := range outcomes {
		o := <-done
		err = errors.Join(err, wrap.Error(o.err, "%s", session))
		results[session] = o.result
	}
	return results, err
}

// checkFlows checks the properties that hold for figures of any size.
func checkFlows(t *testing.T, k kind, window startResult, left stopResult, flows int) {
	t.Helper()
	if len(window.Units) != flows || len(left.Totals) != flows {
		t.Fatalf("%d flows in the window, %d at the end, want %d", len(window.Units), len(left.Totals), flows)
	}
	var sum, parts float64
	for i, n := range window.Units {
		if n <= 0 || n >= float64(left.Totals[i]) {
			t.Errorf("flow %d: %v in the window of %d with the warm-up", i, n, left.Totals[i])
		}
		sum += n
	}
	for _, n := range append(window.Bytes, window.Ended...) {
		parts += n
	}
	if math.Abs(parts-sum) > 1e-6*sum {
		t.Errorf("%v in the parts of the window, %v in all of it", parts, sum)
	}
	if window.Latencies == "" {
		return
	}
	h, err := mergeHistograms([]string{window.Latencies})
	iferr.Fatal(t, err)
	// At either edge one transaction of each flow counts in part, and has a latency or none.
	if d := float64(h.TotalCount()) - sum; math.Abs(d) > 2*float64(flows) && !k.open {
		t.Errorf("%d latencies of %v transactions", h.TotalCount(), sum)
	}
	// The thread of a flow that got nothing may have had no CPU between two transactions.
	if most := int64(flows) * int64(200*time.Millisecond); window.Covered > most || (window.Covered > 0) == k.open && window.Silent == 0 {
		t.Errorf("%d ns of %d covered", window.Covered, most)
	}
}

func TestTrialsOneAfterAnother(t *testing.T) {
	h := newHandlers(t)
	for range 3 {
		runInOneProcess(t, h, record.TCPRR, record.Options{}, loopback4, 1)
		runInOneProcess(t, h, record.TCPStream, record.Options{}, loopback4, 2)
	}
}
