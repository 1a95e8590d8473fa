package engine

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/record"
)

// Clients that a server does not expect, and servers that are not there.

func strangersOf(t *testing.T, h handlers) int64 {
	t.Helper()
	return must[stopResult](t, h, methodStop, stopParams{Session: "server"}).Strangers
}

// TestStrangersAmongBriefConnections has strangers connect while each transaction has its own
// connection.
func TestStrangersAmongBriefConnections(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	o := record.Options{RequestSize: 40, ResponseSize: 3}
	must[openResult](t, h, methodServe, serveParams(record.TCPCRR, o, loopback4, port, 1))
	connectFlow(t, port, 0)
	started := make(chan error, 1)
	go func() {
		_, err := ask[startResult](t.Context(), h, methodStart, startParams{Session: "server", Duration: time.Minute})
		started <- err
	}()
	whole := append(bytes.Clone(testCookie), make([]byte, 24)...)
	for _, c := range []struct {
		request []byte
		want    string
	}{
		{whole, string(payload(3))},
		{make([]byte, 40), ""},
		{[]byte("GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n"), ""},
		{whole, string(payload(3))},
	} {
		conn := connectRaw(t, port)
		conn.Write(c.request)
		if got, _ := io.ReadAll(conn); string(got) != c.want {
			t.Errorf("%q was answered %q, want %q", c.request, got, c.want)
		}
	}
	half := connectRaw(t, port)
	half.Write(whole[:20])
	half.(*net.TCPConn).CloseWrite()
	if got, _ := io.ReadAll(half); len(got) > 0 {
		t.Errorf("half a request was answered %q", got)
	}
	if n := strangersOf(t, h); n != 3 {
		t.Errorf("%d strangers, want 3", n)
	}
	if err := <-started; err == nil || !strings.Contains(err.Error(), "halted") {
		t.Errorf("error %v", err)
	}
}

func TestStrangersToWebServer(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	must[openResult](t, h, methodServe, serveParams(record.HTTP, record.Options{ResponseSize: 5}, loopback4, port, 1))
	get := func(path, cookie string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
		iferr.Fatal(t, err)
		r.Close = true
		r.Header.Set("Cookie", cookie)
		response, err := http.DefaultClient.Do(r)
		iferr.Fatal(t, err)
		defer response.Body.Close()
		b, err := io.ReadAll(response.Body)
		iferr.Fatal(t, err)
		return response.StatusCode, string(b)
	}
	good := fmt.Sprintf("nettoll=%x", testCookie)
	for _, c := range []struct{ path, cookie string }{{"/0", ""}, {"/0", "nettoll=0"}, {"/1", good}, {"/", good}, {"/-1", good}} {
		if status, _ := get(c.path, c.cookie); status != http.StatusForbidden {
			t.Errorf("%s with %q: status %d", c.path, c.cookie, status)
		}
	}
	if status, body := get("/0", good); status != http.StatusOK || body != string(payload(5)) {
		t.Errorf("status %d, body %q", status, body)
	}
	if n := strangersOf(t, h); n != 5 {
		t.Errorf("%d strangers, want 5", n)
	}
}

func TestGreetingByDatagrams(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	must[openResult](t, h, methodServe, serveParams(record.UDPStream, record.Options{}, loopback4, port, 2))
	if _, err := ask[openResult](t.Context(), h, methodServe, serveParams(record.UDPStream, record.Options{}, loopback4, port, 1)); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("port in use: error %v", err)
	}
	dial := func() net.Conn {
		conn, err := net.Dial("udp4", fmt.Sprintf("127.0.0.1:%d", port))
		iferr.Fatal(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	answer := func(conn net.Conn, wait time.Duration) []byte {
		b := make([]byte, 100)
		conn.SetReadDeadline(time.Now().Add(wait))
		n, _ := conn.Read(b)
		return b[:n]
	}
	welcomed := append(bytes.Clone(testCookie), welcome)
	first, second := dial(), dial()
	for range 3 { // as if the answers were lost
		first.Write(hello(testCookie, 1))
		if got := answer(first, time.Minute); !bytes.Equal(got, welcomed) {
			t.Errorf("answered %q", got)
		}
	}
	for _, greeting := range [][]byte{hello(testCookie, 1), hello(testCookie, 2), hello([]byte("another sixteen!"), 0), []byte("hi"), {}} {
		second.Write(greeting)
	}
	if got := answer(second, 100*time.Millisecond); len(got) > 0 {
		t.Errorf("a stranger was answered %q", got)
	}
	second.Write(hello(testCookie, 0))
	if got := answer(second, time.Minute); !bytes.Equal(got, welcomed) {
		t.Errorf("strangers kept the client out: answered %q", got)
	}
	if n := strangersOf(t, h); n != 4 {
		t.Errorf("%d strangers, want 4", n)
	}
}

func TestDatagramConnectErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		answer     func(greeting []byte) []byte // nil: nobody listens
	}{
		{"nobody", "nobody receives datagrams there: connection refused", nil},
		{saysNothing, "no answer within 1s (does this network carry UDP?)", func([]byte) []byte { return nil }},
		{"another protocol", "does not speak nettoll's protocol", func([]byte) []byte { return []byte("220 smtp") }},
		{"echoes", "server: no CPU", func(b []byte) []byte { return append(append(b[:cookieSize:cookieSize], refused), "server: no CPU"...) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == saysNothing {
				answersWithin(t, time.Second)
			}
			h, port := newHandlers(t), machine.FreePort(t)
			if c.answer != nil {
				conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
				iferr.Fatal(t, err)
				served := make(chan struct{})
				go func() {
					defer close(served)
					b := make([]byte, 100)
					for {
						n, from, err := conn.ReadFromUDPAddrPort(b)
						if err != nil {
							return
						}
						if reply := c.answer(b[:n]); reply != nil {
							conn.WriteToUDPAddrPort(reply, from)
						}
					}
				}()
				defer func() { conn.Close(); <-served }()
			}
			_, err := ask[openResult](t.Context(), h, methodConnect, connectParams(record.UDPRR, record.Options{}, loopback4, port, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v does not say %q", err, c.want)
			}
		})
	}
}

// TestServerRefusesByDatagram has a server that cannot do what the trial needs.
func TestServerRefusesByDatagram(t *testing.T) {
	h, port := newHandlers(t), machine.FreePort(t)
	params := serveParams(record.UDPStream, record.Options{}, loopback4, port, 1)
	params.Flows[0].CPU = 1 << 14
	must[openResult](t, h, methodServe, params)
	_, err := ask[openResult](t.Context(), h, methodConnect, connectParams(record.UDPStream, record.Options{}, loopback4, port, 1))
	if err == nil || !strings.Contains(err.Error(), "server: pin to CPU 16384") {
		t.Errorf("error %v", err)
	}
}
