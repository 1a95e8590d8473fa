package engine

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/record"
)

// TestPaceDoesNotDrift checks that the n-th event is due after n times the interval, even hours
// later.
func TestPaceDoesNotDrift(t *testing.T) {
	for _, rate := range []float64{0.5, 1, 3, 1000, 44_642.857, 1e6} {
		p := pace{begins: 5e9, every: 1e9 / rate}
		if p.by(p.begins-1) != 0 || p.due(0) != p.begins {
			t.Errorf("%v a second: begins before its time", rate)
		}
		for _, n := range []int64{0, 1, 2, 999, 1e6, int64(rate * 3600 * 5)} {
			due := p.due(n)
			if want := p.begins + int64(float64(n)/rate*1e9); due < want-1000 || due > want+1000 {
				t.Errorf("%v a second: %d is due at %d, want %d", rate, n, due, want)
			}
			if before, after := p.by(due-2), p.by(due+2); before > n || after != n+1 {
				t.Errorf("%v a second: around %d there are %d and %d", rate, n, before, after)
			}
		}
	}
}

// TestSenderKeepsItsPace checks that no datagram is sent before it is due.
func TestSenderKeepsItsPace(t *testing.T) {
	for _, gso := range []bool{false, true} {
		h, port := newHandlers(t), machine.FreePort(t)
		o := record.Options{Bandwidth: 8e6, MessageSize: 100, GSO: gso} // 10,000 per second
		begun := time.Now()
		results := startBoth(t, h, func() { openBoth(t, h, record.UDPStream, o, loopback4, port, 1) })
		left := stopBoth(t, h)
		due := int64(time.Since(begun).Seconds()*1e4) + 1
		d := left["server"].Datagrams[0]
		if sent := left["client"].Totals[0] / 100; sent > due || d.Expected > sent || d.Received == 0 {
			t.Errorf("%d datagrams sent and %d due; received %+v", sent, due, d)
		}
		// What arrives across an edge of the window counts in part, by the time between two readings: 20 ms at most.
		if n := results["server"].Units[0]; math.Abs(n-float64(d.Received)*100) > 100*200 {
			t.Errorf("%v bytes in %d datagrams of 100", n, d.Received)
		}
	}
}

// TestStallIsNotOmitted has a server that stalls once. In a closed loop one transaction would be
// slow; here all that were due meanwhile are.
func TestStallIsNotOmitted(t *testing.T) {
	const stallsAt, stall = 100, 200 * time.Millisecond
	h := newHandlers(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	iferr.Fatal(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.ReadFull(conn, make([]byte, helloSize))
		conn.Write([]byte{welcome})
		b := make([]byte, 1)
		for n := 0; ; n++ {
			if _, err := conn.Read(b); err != nil {
				return
			}
			if n == stallsAt {
				time.Sleep(stall)
			}
			conn.Write(b)
		}
	}()
	defer func() { l.Close(); <-served }()
	port := l.Addr().(*net.TCPAddr).Port
	must[openResult](t, h, methodConnect, connectParams(record.PacedRR, record.Options{Rate: 1000}, loopback4, port, 1))
	r := must[startResult](t, h, methodStart, startParams{Session: "client", Duration: 2 * time.Second})
	latencies, err := mergeHistograms([]string{r.Latencies})
	iferr.Fatal(t, err)
	slow := int64(0)
	for _, bar := range latencies.Distribution() {
		if bar.To >= int64(stall/2) {
			slow += bar.Count
		}
	}
	if slow < 100 { // half of those that became due during the stall have waited for half of it
		t.Errorf("%d of %d transactions were slow", slow, latencies.TotalCount())
	}
	must[stopResult](t, h, methodStop, stopParams{Session: "client"})
}

// TestLostAndLateDatagrams has a server that leaves some requests without a response, and answers
// each of the others first with that to the previous request once more, if there was one, and only a while
// later with its own.
func TestLostAndLateDatagrams(t *testing.T) {
	const while = 5 * time.Millisecond
	h := newHandlers(t)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	iferr.Fatal(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		b := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			if _, ok := parseHello(b[:n], testCookie); ok {
				conn.WriteToUDPAddrPort(append(testCookie, welcome), from)
				continue
			}
			number := binary.BigEndian.Uint64(b[8:])
			if number%4 == 0 {
				continue
			}
			if number%4 != 1 {
				binary.BigEndian.PutUint64(b[8:], number-1)
				conn.WriteToUDPAddrPort(b[:n], from)
			}
			time.Sleep(while)
			binary.BigEndian.PutUint64(b[8:], number)
			conn.WriteToUDPAddrPort(b[:n], from)
		}
	}()
	defer func() { conn.Close(); <-served }()
	port := conn.LocalAddr().(*net.UDPAddr).Port
	var r startResult
	var d *datagrams
	// On a busy machine there may be too few requests in a short window.
	for long := time.Second; long == time.Second || long < 20*time.Second && d.Lost == 0; long *= 4 {
		must[openResult](t, h, methodConnect, connectParams(record.UDPRR, record.Options{}, loopback4, port, 1))
		r = must[startResult](t, h, methodStart, startParams{Session: "client", Duration: long})
		d = must[stopResult](t, h, methodStop, stopParams{Session: "client"}).Datagrams[0]
	}
	latencies, err := mergeHistograms([]string{r.Latencies})
	iferr.Fatal(t, err)
	if d.Lost == 0 || d.Received != latencies.TotalCount() || d.Expected != d.Received+d.Lost {
		t.Errorf("%+v and %d latencies", d, latencies.TotalCount())
	}
	if fastest := time.Duration(latencies.Min()); fastest < while-time.Millisecond {
		t.Errorf("a late response was taken for the next, after %v", fastest)
	}
}

// TestStreamOfAGivenRate counts the bytes written: never more than are due, and all that are due
// when the flow sleeps.
func TestStreamOfAGivenRate(t *testing.T) {
	const message, rate = 1400, 100_000_000 // bytes, bit/s
	f := &flow{session: &session{}, out: make([]byte, message), write: func(*flow) (int64, syscall.Errno) { return message, 0 }}
	f.begins = nanotime()
	f.pace.every = 8e9 / float64(rate)
	sent, slept := int64(0), 0
	for slept < 20 {
		before := nanotime()
		n, errno := sendWhenDue(f)
		if errno != 0 {
			t.Fatal(errno)
		}
		after := nanotime()
		if n == 0 {
			slept++
			if due := int64(float64(before-f.begins) / f.pace.every); sent < due {
				t.Fatalf("it sleeps with %d bytes sent of %d that are due", sent, due)
			}
		}
		if due := int64(float64(after-f.begins)/f.pace.every) + message; sent+n > due {
			t.Fatalf("%d bytes sent, %d were due", sent+n, due)
		}
		sent += n
	}
	for _, c := range []struct{ rate, want int }{{0, 128 << 10}, {1e9, 125_000}, {10e9, 128 << 10}, {1e6, 1400}} {
		o := record.Options{Bandwidth: c.rate}
		if streamOptions(&o); o.MessageSize != c.want {
			t.Errorf("at %d bit/s a message has %d bytes, want %d", c.rate, o.MessageSize, c.want)
		}
	}
}
