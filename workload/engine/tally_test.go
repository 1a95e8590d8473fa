package engine

import (
	"encoding/binary"
	"math"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

func TestTally(t *testing.T) {
	const opens, closes = 1000, 2000
	type read struct { // numbers that were read at once
		at      int64
		numbers []int64
		drops   uint32
	}
	for _, c := range []struct {
		name  string
		reads []read
		want  datagrams
	}{
		{"all in order", []read{{900, []int64{1, 2}, 0}, {1000, []int64{3, 4}, 0}, {1999, []int64{5}, 0}, {2000, []int64{6}, 0}},
			datagrams{Expected: 3, Received: 3}},
		{"lost on the way", []read{{900, []int64{2}, 0}, {1500, []int64{4, 5, 9}, 0}, {2100, []int64{10}, 0}},
			datagrams{Expected: 7, Received: 3, Lost: 4}},
		{"lost before and after the window", []read{{900, []int64{5}, 0}, {1500, []int64{6}, 0}, {2100, []int64{20}, 0}},
			datagrams{Expected: 1, Received: 1}},
		{"socket full", []read{{900, []int64{1}, 3}, {1500, []int64{4, 9}, 7}, {2100, []int64{50}, 40}},
			datagrams{Expected: 8, Received: 2, Lost: 2, Dropped: 4}},
		{"socket full before the window, and nothing after it", []read{{900, []int64{1}, 3}, {1500, []int64{4, 9}, 4}},
			datagrams{Expected: 8, Received: 2, Lost: 5, Dropped: 1}},
		{"more drops than are missing", []read{{1500, []int64{1, 3}, 5}},
			datagrams{Expected: 3, Received: 2, Dropped: 1}},
		{"reordered", []read{{1500, []int64{1, 3, 2, 5, 4}, 0}},
			datagrams{Expected: 5, Received: 5, Reordered: 2}},
		{"twice", []read{{1500, []int64{1, 2, 2, 3, 1}, 0}},
			datagrams{Expected: 3, Received: 3, Duplicates: 2}},
		{"of before the window, within it", []read{{900, []int64{1, 4}, 0}, {1500, []int64{2, 5, 6}, 0}},
			datagrams{Expected: 2, Received: 3, Reordered: 1}},
		{"of the window, after it", []read{{1500, []int64{1, 4}, 0}, {2500, []int64{3, 5}, 0}},
			datagrams{Expected: 4, Received: 2, Lost: 1}},
		{"just further back than is remembered", []read{{1500, []int64{recent + 10, 10}, 0}},
			datagrams{Expected: recent + 10, Received: 2, Reordered: 1, Lost: recent + 8}},
		{"further back than is remembered", []read{{1500, []int64{recent + 10, 9, 9}, 0}},
			datagrams{Expected: recent + 10, Received: 3, Reordered: 2, Lost: recent + 7}},
		{"further back, in the place of a newer one", []read{{1500, []int64{1, recent + 10, 5, recent + 5}, 0}},
			datagrams{Expected: recent + 10, Received: 4, Reordered: 2, Lost: recent + 6}},
		{"numbers that use a place again", []read{{1500, []int64{7, recent + 7, recent + 7, 7 + 3*recent, 6 + 2*recent}, 0}},
			datagrams{Expected: 7 + 3*recent, Received: 4, Duplicates: 1, Reordered: 1, Lost: 3 + 3*recent}},
		{"nothing in the window", []read{{900, []int64{1}, 0}, {2500, []int64{2}, 0}}, datagrams{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tally := &tally{}
			for _, r := range c.reads {
				tally.mark(r.at, opens, closes)
				for _, n := range r.numbers {
					tally.count(n)
				}
				tally.drops = r.drops
			}
			if got := *tally.figures(); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestDroppedBatches takes two batches that were dropped to be as large as the two that were read, of three datagrams each.
func TestDroppedBatches(t *testing.T) {
	tally := &tally{open: true, merged: true, batches: 2, fresh: 6, arrived: 6, highest: 20, drops: 2}
	if got, want := *tally.figures(), (datagrams{Expected: 20, Received: 6, Lost: 8, Dropped: 6}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestSharesOfDatagrams checks what each metric is a share of.
func TestSharesOfDatagrams(t *testing.T) {
	var sum datagrams
	sum.add(datagrams{Expected: 500, Received: 200, Lost: 200, Dropped: 30, Reordered: 20, Duplicates: 60, Jitter: 3e9, Jittered: 1})
	sum.add(datagrams{Expected: 400, Received: 340, Lost: 40, Dropped: 20, Reordered: 15, Duplicates: 0, Jitter: 1e9, Jittered: 1})
	sum.add(datagrams{})                             // of a flow that received nothing
	sum.add(datagrams{Expected: 100, Received: 100}) // of one whose clock was set between its only two
	for _, streams := range []bool{true, false} {
		got := map[string]record.Metric{}
		sum.metrics(got, streams)
		want := map[string]float64{record.Loss: 0.24}
		if streams {
			want = map[string]float64{record.Loss: 0.24, record.ReceiverDrops: 0.05, record.Reordering: 0.05, record.Duplicates: 60.0 / 700, record.Jitter: 2}
		}
		for name, share := range want {
			if m, has := got[name]; !has || !near(m.Value, share) || len(got) != len(want) {
				t.Errorf("streams %v: %s is %v, want %v; %d metrics", streams, name, m.Value, share, len(got))
			}
		}
	}
}

// TestJitter does the arithmetic of RFC 3550, section 6.4.1, step by step. The receiver's time of day may be set meanwhile.
func TestJitter(t *testing.T) {
	tally, set := &tally{}, int64(0)
	tally.mark(0, 0, math.MaxInt64)
	f := &flow{batch: &batch{key: binary.BigEndian.Uint64(testCookie[cookieSize/2:])}, tally: tally}
	for i, transit := range []int64{500, 516, 484, 470, 470} { // differences of 16, 32, one when the time is set, and 0
		sent := int64(i) * 1000
		if i == 3 {
			set = 7e9
		}
		f.now = sent + transit + 50
		b := streamDatagram(int64(i+1), 100)
		binary.BigEndian.PutUint64(b[16:], uint64(sent))
		f.arrived(b, control{segment: len(b), time: set + sent + transit})
	}
	first := 16.0 / 16
	second := first + (32-first)/16
	third := second - second/16
	if got, want := tally.figures().Jitter, (first+second+third)/3; math.Abs(got-want) > 1e-9 {
		t.Errorf("jitter %v, want %v", got, want)
	}
}

// receiver returns a flow that receives datagrams from a socket of the test.
func receiver(t *testing.T, o record.Options, buffer int) (*flow, net.Conn) {
	t.Helper()
	to, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	iferr.Fatal(t, err)
	t.Cleanup(func() { to.Close() })
	if buffer > 0 {
		to.SetReadBuffer(buffer)
	}
	from, err := net.Dial("udp4", to.LocalAddr().String())
	iferr.Fatal(t, err)
	t.Cleanup(func() { from.Close() })
	file, err := to.File()
	iferr.Fatal(t, err)
	t.Cleanup(func() { file.Close() })
	f := &flow{session: &session{cookie: testCookie}, fd: int(file.Fd()), window: window{closes: math.MaxInt64}}
	if _, err := newBatch(f, o); err != nil {
		t.Fatal(err)
	}
	// Datagrams sent over loopback have arrived when the call returns. A step that blocked would
	// hold up the collector, which is running here.
	iferr.Fatal(t, unix.SetNonblock(f.fd, true))
	return f, from
}

func streamDatagram(number int64, size int) []byte {
	b := make([]byte, size)
	copy(b, testCookie[cookieSize/2:])
	binary.BigEndian.PutUint64(b[8:], uint64(number))
	return b
}

// TestFullSocketIsNotThePathsLoss sends more than the receiver's socket holds, and leaves out some
// datagrams that could have been lost on the way.
func TestFullSocketIsNotThePathsLoss(t *testing.T) {
	f, from := receiver(t, record.Options{MessageSize: 1000}, 64<<10)
	const sent, leftOut = 500, 50
	for n := int64(1); n <= sent; n++ {
		if n > sent-leftOut && n < sent {
			continue
		}
		if n == sent { // arrives when there is room again, and carries the count of drops
			for {
				if _, errno := receiveBatch(f); errno == unix.EAGAIN {
					break
				} else if errno != 0 {
					t.Fatal(errno)
				}
			}
		}
		if _, err := from.Write(streamDatagram(n, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if got, errno := receiveBatch(f); errno != 0 || got != 1000 {
		t.Fatalf("last datagram: %d bytes, %v", got, errno)
	}
	d := f.tally.figures()
	if d.Expected != sent || d.Lost != leftOut-1 || d.Dropped == 0 || d.Received+d.Lost+d.Dropped != sent {
		t.Errorf("got %+v", d)
	}
}

// TestReceiverNaps expects a nap after reads that brought several datagrams, if the socket's buffer
// has room for as many as arrive meanwhile.
func TestReceiverNaps(t *testing.T) {
	for _, c := range []struct {
		what       string
		size, sent int
		gso        bool
		window     int // bytes, 0 is the kernel's default
		want       bool
	}{
		{"several", 1000, 4, false, 0, true},
		{"one", 1000, 1, false, 0, false},
		{"as many as are read at once", 100, largestTrain, false, 0, false},
		{"a small buffer", 1000, 4, false, 8 << 10, false},
		{"batches", 1000, 4, true, 0, false},
	} {
		f, from := receiver(t, record.Options{MessageSize: c.size, GSO: c.gso}, c.window)
		for n := range c.sent {
			if _, err := from.Write(streamDatagram(int64(n+1), c.size)); err != nil {
				t.Fatal(err)
			}
		}
		if got, errno := receiveBatch(f); errno != 0 || got != int64(c.sent*c.size) {
			t.Fatalf("%s: %d bytes, %v", c.what, got, errno)
		}
		if f.batch.naps != c.want {
			t.Errorf("%s: naps: %v", c.what, f.batch.naps)
		}
	}
}

// TestTrainArrives sends datagrams in one system call, to be read at once.
func TestTrainArrives(t *testing.T) {
	f, from := receiver(t, record.Options{MessageSize: 100, GSO: true}, 0)
	raw, err := from.(*net.UDPConn).SyscallConn()
	iferr.Fatal(t, err)
	raw.Control(func(fd uintptr) { err = segment(int(fd), 100) })
	iferr.Fatal(t, err)
	var train []byte
	for _, n := range []int64{1, 2, 4, 3} {
		train = append(train, streamDatagram(n, 100)...)
	}
	train = train[:len(train)-50] // the last can be shorter
	if _, err := from.Write(train); err != nil {
		t.Fatal(err)
	}
	if got, errno := receiveBatch(f); errno != 0 || got != 350 {
		t.Errorf("read %d bytes, %v; want 350", got, errno)
	}
	if got, want := *f.tally.figures(), (datagrams{Expected: 4, Received: 4, Reordered: 1}); got != want || f.tally.batches != 1 {
		t.Errorf("got %+v in %d batches, want %+v in one", got, f.tally.batches, want)
	}
}

// TestStrangeDatagramsAreNotCounted has strangers among the datagrams, and one that comes twice: its payload counts once.
func TestStrangeDatagramsAreNotCounted(t *testing.T) {
	f, from := receiver(t, record.Options{MessageSize: 100}, 0)
	negative := streamDatagram(-1, 100)
	stranger := streamDatagram(5, 100)
	stranger[0]++
	for _, b := range [][]byte{negative, stranger, stranger[:10], {}, hello(testCookie, 0), streamDatagram(1, 100), streamDatagram(1, 100)} {
		if _, err := from.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	var sum int64
	for {
		n, errno := receiveBatch(f)
		if errno == unix.EAGAIN {
			break
		}
		sum += n
	}
	got := *f.tally.figures()
	got.Jitter = 0
	if want := (datagrams{Expected: 1, Received: 1, Duplicates: 1}); got != want || sum != 100 {
		t.Errorf("got %+v and %d bytes, want %+v and 100", got, sum, want)
	}
}

// asker returns a requester of udp_rr whose responses may take a time, and its server.
func asker(t *testing.T, fastest int64) (*flow, *net.UDPConn) {
	t.Helper()
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	iferr.Fatal(t, err)
	t.Cleanup(func() { server.Close() })
	conn, err := net.DialUDP("udp4", nil, server.LocalAddr().(*net.UDPAddr))
	iferr.Fatal(t, err)
	t.Cleanup(func() { conn.Close() })
	file, err := conn.File()
	iferr.Fatal(t, err)
	t.Cleanup(func() { file.Close() })
	f := &flow{session: &session{cookie: testCookie, fastest: fastest}, fd: int(file.Fd()), window: window{closes: math.MaxInt64}}
	_, err = newAsker(f, record.Options{RequestSize: exchangeHeader, ResponseSize: exchangeHeader})
	iferr.Fatal(t, err)
	iferr.Fatal(t, unix.SetNonblock(f.fd, true))
	return f, server
}

// echo answers the next request.
func echo(t *testing.T, server *net.UDPConn) {
	t.Helper()
	b := make([]byte, exchangeHeader)
	_, from, err := server.ReadFromUDPAddrPort(b)
	iferr.Fatal(t, err)
	_, err = server.WriteToUDPAddrPort(b, from)
	iferr.Fatal(t, err)
}

// TestSlowResponsesAreNotLost has a path on which a response takes longer than one wait for it.
func TestSlowResponsesAreNotLost(t *testing.T) {
	f, server := asker(t, math.MaxInt64/2)
	if n, errno := askStep(f); n != 0 || errno != 0 {
		t.Fatalf("request: %d, %v", n, errno)
	}
	for range 2 {
		if n, errno := askStep(f); n != 0 || errno != unix.EAGAIN || f.tally.asked != 0 {
			t.Errorf("without a response: %d, %v, %d transactions have ended", n, errno, f.tally.asked)
		}
	}
	echo(t, server)
	if n, errno := askStep(f); n != 1 || errno != 0 || f.tally.asked != 1 || f.tally.unheard != 0 {
		t.Errorf("response: %d, %v, %+v", n, errno, f.tally.figures())
	}
}

// TestLateResponsesAreNotLost has a server that is late for several transactions, and answers none of the first, and each other only
// once.
func TestLateResponsesAreNotLost(t *testing.T) {
	f, server := asker(t, 0)
	give := func(want int64) {
		t.Helper()
		if n, errno := askStep(f); n != want || errno != 0 {
			t.Errorf("%d, %v, want %d", n, errno, want)
		}
	}
	for range 3 {
		give(0) // the request
		f.begun -= int64(lossTimeout)
		give(0) // it is taken to be lost
	}
	give(0)
	if got, want := *f.tally.figures(), (datagrams{Expected: 3, Lost: 3}); got != want {
		t.Errorf("none has been answered: %+v, want %+v", got, want)
	}
	b := make([]byte, exchangeHeader)
	_, err := server.Read(b) // the first
	iferr.Fatal(t, err)
	for range 3 {
		echo(t, server)
	}
	for range 3 {
		give(1)
	}
	if got, want := *f.tally.figures(), (datagrams{Expected: 4, Received: 3, Lost: 1}); got != want || f.latencies.count() != 3 || f.latencies.histogram().Max() < int64(lossTimeout) {
		t.Errorf("%+v, want %+v; latencies of %d transactions", got, want, f.latencies.count())
	}
}

// TestPathWithASmallerMTU has the kernel report that a datagram was larger than the path carries.
func TestPathWithASmallerMTU(t *testing.T) {
	for _, gso := range []bool{false, true} {
		f := &flow{session: &session{options: record.Options{GSO: gso}}, window: window{cutAt: never}}
		if over, err := f.stepped(0, unix.EMSGSIZE, false); over != gso || (err != nil) != gso {
			t.Errorf("gso %v: over %v, error %v", gso, over, err)
		}
	}
}

func FuzzArrived(f *testing.F) {
	f.Add(streamDatagram(1, 100), 100, []byte{})
	f.Add(append(streamDatagram(1<<40, 24), streamDatagram(-9, 30)...), 24, make([]byte, 16))
	f.Add(streamDatagram(math.MaxInt64, 24), -1, []byte{20, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 104, 0, 0, 0, 24, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte, segment int, extra []byte) {
		told := readControl(extra)
		if told.segment <= 0 {
			told.segment = max(segment, 1)
		}
		w := &flow{batch: &batch{key: binary.BigEndian.Uint64(testCookie[cookieSize/2:])}, tally: &tally{}}
		w.tally.mark(0, 0, never)
		if fresh := w.arrived(data, told); fresh < 0 || fresh > int64(len(data)) {
			t.Fatalf("%d bytes of %d", fresh, len(data))
		}
		if d := w.tally.figures(); d.Received < 0 || d.Lost < 0 || d.Dropped < 0 || d.Received > d.Expected {
			t.Fatalf("%+v", d)
		}
	})
}
