package engine

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// defaultBody is the size of a response's body in bytes.
const defaultBody = 1 << 10

// webRequests makes HTTP/1.1 requests with net/http to Go's HTTP server, one after the other on
// each flow, on a persistent connection or on one for each request. The trial's cookie is a cookie
// of the requests. A latency is from just before the request, and before its connection where it
// needs one, to just after the last byte of the body. Payload is only the bodies of responses.
//
// Here the programs themselves are measured, too. They run on Go's scheduler, with its collector, on
// as many processors as they have CPUs.
func webRequests() traffic {
	return traffic{
		name:      record.HTTP,
		meeting:   meeting{listen: listenHTTP, dial: dialHTTP, managed: true},
		honours:   []string{"streams", "response-size", "no-keep-alive"},
		sizes:     []size{{record.Bounds{Option: "response-size", Least: 1, Most: record.MaxMessage}, defaultBody}},
		flows:     each(kind{measured: client, counts: transactions}),
		exchanged: func(o record.Options) (toServer, toClient int) { return 0, o.ResponseSize },
	}
}

func (s *session) webCookie() string { return fmt.Sprintf("nettoll=%x", s.cookie) }

// listenHTTP serves until the session is halted. A flow is connected when its first request has
// come; its number is the path.
func listenHTTP(s *session, at netip.AddrPort) error {
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		if call, ok := errors.AsType[syscall.Errno](err); ok {
			return call
		}
		return err
	}
	cookie, body := s.webCookie(), payload(s.options.ResponseSize)
	length := strconv.Itoa(len(body))
	web := &http.Server{
		ReadHeaderTimeout: s.limit,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			index, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
			if err != nil || index < 0 || index >= len(s.flows) || r.Header.Get("Cookie") != cookie {
				s.strangers.Add(1)
				http.Error(w, "not of this trial", http.StatusForbidden)
				return
			}
			s.greeted(s.flows[index])
			w.Header().Set("Content-Length", length)
			w.Write(body)
		}),
	}
	s.threads.Go(func() {
		if err := web.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("serve: %w", err))
		}
	})
	s.threads.Go(func() {
		<-s.quit
		web.Close()
	})
	return nil
}

// greeted notes that the first request of a flow has come, or, at the client, has been answered.
func (s *session) greeted(f *flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.claimed {
		f.claimed = true
		s.connected++
	}
}

// browser is the client of one flow: net/http's requests and responses on a connection of the
// flow's own.
type browser struct {
	dialer  net.Dialer
	to      string
	request *http.Request
	in      *bufio.Reader
	out     *bufio.Writer

	mu   sync.Mutex
	conn net.Conn // nil when there is none
	over bool
}

// dialHTTP makes the first request of a flow.
func dialHTTP(s *session, f *flow, spec flowSpec) error {
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%v/%d", spec.To, spec.Index), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Cookie", s.webCookie())
	request.Close = s.options.NoKeepAlive
	b := &browser{
		dialer: net.Dialer{Timeout: s.limit}, to: spec.To.String(), request: request,
		in: bufio.NewReader(nil), out: bufio.NewWriter(nil),
	}
	s.threads.Go(func() {
		<-s.quit
		b.end()
	})
	f.latencies, f.connects = newLatencies(), newLatencies()
	f.step = func(f *flow) (int64, syscall.Errno) { return b.browse(f) }
	if _, errno := f.step(f); errno != 0 {
		return f.cause
	}
	s.greeted(f)
	return nil
}

// browse makes one transaction.
func (b *browser) browse(f *flow) (int64, syscall.Errno) {
	f.begun = nanotime()
	if f.cause = b.connect(f); f.cause == nil {
		f.cause = b.exchange(f.session.options.ResponseSize)
	}
	if f.cause != nil {
		return 0, unix.EPROTO
	}
	f.now = nanotime()
	f.ended()
	return 1, 0
}

// connect makes a connection if there is none.
func (b *browser) connect(f *flow) error {
	if b.conn != nil {
		return nil
	}
	conn, err := b.dialer.Dial("tcp", b.to)
	if err != nil {
		return err
	}
	connected := nanotime()
	conn.(*net.TCPConn).SetLinger(0) // leaves no TIME_WAIT, see tcpCRR
	f.conns++
	if f.begun >= f.opens && f.begun < f.closes {
		f.connects.add(connected - f.begun)
	}
	b.in.Reset(conn)
	b.out.Reset(conn)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		conn.Close()
		return errHalted
	}
	b.conn = conn
	return nil
}

// exchange sends the request and reads the whole response.
func (b *browser) exchange(size int) error {
	if err := cmp.Or(b.request.Write(b.out), b.out.Flush()); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	response, err := http.ReadResponse(b.in, b.request)
	if err != nil {
		return fmt.Errorf("read response: %w", err)
	}
	n, err := io.Copy(io.Discard, response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("read body: %w", err)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("the server answered %s", response.Status)
	case n != int64(size):
		return fmt.Errorf("the server answered %d bytes instead of %d", n, size)
	}
	if b.request.Close {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.conn != nil {
			b.conn.Close()
			b.conn = nil
		}
	}
	return nil
}

// end closes the connection, which also ends a request in progress.
func (b *browser) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.conn != nil {
		b.conn.Close()
	}
}
