package kube_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/moby/spdystream"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/kube"
)

// speaksSPDY answers as the API server does to who asks for the streams of a process over SPDY. The process repeats its input, says
// at the end of that how long it was, and ends with a status.
func speaksSPDY(w http.ResponseWriter, r *http.Request, status string) {
	if r.Method != http.MethodPost || r.Header.Get("Upgrade") != "SPDY/3.1" {
		http.Error(w, "no SPDY", http.StatusBadRequest)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: %s\r\n\r\n", r.Header.Get("X-Stream-Protocol-Version"))
	session, err := spdystream.NewConnection(conn, true)
	if err != nil {
		return
	}
	begun := make(chan *spdystream.Stream)
	go session.Serve(func(s *spdystream.Stream) {
		_ = s.SendReply(http.Header{}, false)
		begun <- s
	})
	all := map[string]*spdystream.Stream{}
	for len(all) < 4 {
		s := <-begun
		all[s.Headers().Get("streamType")] = s
	}
	n, _ := io.Copy(all["stdout"], all["stdin"])
	fmt.Fprintf(all["stderr"], "%d bytes", n)
	_, _ = io.WriteString(all["error"], status)
	for _, s := range all {
		_ = s.Close()
	}
	_, _ = io.Copy(io.Discard, all["error"]) // until the other side is gone
}

// TestWithoutWebSockets attaches to a process where something on the way refuses WebSockets, in several ways, or where the API
// server refuses the request itself.
func TestWithoutWebSockets(t *testing.T) {
	machine.Loopback(t)
	const large = 1 << 20
	for name, c := range map[string]struct {
		code                 int
		says, status, refuse string // refuse: of the error
		wait                 string
	}{
		"a proxy's page":     {http.StatusForbidden, "no upgrades here", `{"status":"Success"}`, "", ""},
		"a gateway's JSON":   {http.StatusForbidden, `{"code":403,"message":"no upgrades here"}`, `{"status":"Success"}`, "", ""},
		"an answer without":  {http.StatusOK, "", `{"status":"Success"}`, "", ""},
		"a header is lost":   {http.StatusBadRequest, `{"kind":"Status","code":400,"message":"Upgrade request required"}`, `{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`, "", "exit status 3: 1048576 bytes"},
		"cut":                {http.StatusForbidden, "no", "", "", "the connection to it ended: 1048576 bytes"},
		"no right":           {http.StatusForbidden, `{"kind":"Status","code":403,"message":"pods is forbidden"}`, "", "pods is forbidden", ""},
		"neither, in JSON":   {http.StatusForbidden, `{"message":"no way"}`, "none", "no way; without WebSockets (SPDY): no way", ""},
		"neither of the two": {http.StatusBadGateway, "no way", "none", "502 Bad Gateway: no way; without WebSockets (SPDY): 502 Bad Gateway: no way", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") == "websocket" || c.status == "none" {
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.says)
				return
			}
			speaksSPDY(w, r, c.status)
		}))
		p, err := kube.APIBy(server.Client(), server.URL).TryAttach()
		if c.refuse != "" {
			if err == nil || err.Error() != c.refuse {
				t.Errorf("%s: %v, want %s", name, err, c.refuse)
			}
			server.Close()
			continue
		}
		iferr.Fatal(t, err)
		text := strings.Repeat("x", large)
		go func() {
			_, err := io.WriteString(p.Stdin(), text)
			iferr.Error(t, err)
			_ = p.Stdin().Close() // the process may have ended, and its connection with it, before this returns
		}()
		got, err := io.ReadAll(p.Stdout())
		if err != nil || string(got) != text {
			t.Errorf("%s: %d bytes came back, %v", name, len(got), err)
		}
		said := ""
		if err := p.Wait(); err != nil {
			said = err.Error()
		}
		if said != c.wait || p.Stderr() != fmt.Sprintf("%d bytes", large) {
			t.Errorf("%s: it ended with %q and said %q, want %q", name, said, p.Stderr(), c.wait)
		}
		iferr.Error(t, p.Kill())
		server.Close()
	}
}

// TestSPDYWritesEnd is TestWritesEnd where no WebSocket passes.
func TestSPDYWritesEnd(t *testing.T) {
	machine.Loopback(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "websocket" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		speaksSPDY(w, r, "")
	}))
	defer server.Close()
	p := kube.APIBy(server.Client(), server.URL).Attach(t, time.Second)
	done := make(chan struct{})
	go func() { // what it repeats is not read
		for {
			if _, err := p.Stdin().Write(make([]byte, 1<<20)); err != nil {
				break
			}
		}
		_ = p.Stdin().Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
	go func() { _, _ = io.Copy(io.Discard, p.Stdout()) }()
	_ = p.Kill()
}
