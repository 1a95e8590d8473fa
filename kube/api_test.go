package kube_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"nettoll/internal/testutil/machine"
	"nettoll/kube"
)

// TestAskNamesTheBound asks a server that does not answer in time: not at all, or only the beginning of an answer.
func TestAskNamesTheBound(t *testing.T) {
	machine.Loopback(t)
	over := make(chan struct{})
	for path, http2 := range map[string]bool{"/silent": false, "/begun": false, "/silent2": true, "/begun2": true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if strings.HasPrefix(path, "/begun") {
				_, _ = w.Write([]byte("{"))
				w.(http.Flusher).Flush()
			}
			<-over
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close() // once over is closed
		bound := errors.New("no network within a moment")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, bound)
		defer cancel()
		err := kube.APIBy(server.Client(), server.URL).Ask(ctx, http.MethodGet, path, nil, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasSuffix(err.Error(), bound.Error()) {
			t.Errorf("%s: %v, want a deadline, %v", path, err, bound)
		}
	}
	close(over)
}

// TestAnswersThatEndEarly asks a server whose first answer ends with its connection. What can be asked twice is asked again.
func TestAnswersThatEndEarly(t *testing.T) {
	machine.Loopback(t)
	for method, times := range map[string]int32{http.MethodGet: 2, http.MethodDelete: 2, http.MethodPost: 1} {
		for _, begun := range []bool{false, true} { // the answer
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) > 1 {
					_, _ = w.Write([]byte("{}"))
					return
				}
				if begun {
					_, _ = w.Write([]byte("{"))
					w.(http.Flusher).Flush()
				}
				panic(http.ErrAbortHandler) // ends the connection
			}))
			defer server.Close()
			err := kube.APIBy(server.Client(), server.URL).Ask(t.Context(), method, "/", nil, nil)
			if n := asked.Load(); n != times || (err == nil) != (times == 2) {
				t.Errorf("%s was asked %d times: %v", method, n, err)
			}
		}
	}
}

// silent is a transport that does not look at the ends of requests, as that of client-go while a program that provides
// credentials runs.
type silent chan struct{}

func (s silent) RoundTrip(*http.Request) (*http.Response, error) {
	<-s
	return nil, errors.New("there are no credentials")
}

func TestCredentialsThatDoNotCome(t *testing.T) {
	over := make(silent)
	defer close(over)
	bound := errors.New("no network within a moment")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, bound)
	defer cancel()
	by := &http.Client{Transport: kube.Bounded(over)}
	err := kube.APIBy(by, "http://127.0.0.1").Ask(ctx, http.MethodGet, "/version", nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasSuffix(err.Error(), bound.Error()) {
		t.Errorf("%v, want a deadline, %v", err, bound)
	}
}

// TestWritesEnd writes to a process to which nothing gets through any more, as when the way to the API server is cut. Its input
// can be closed meanwhile.
func TestWritesEnd(t *testing.T) {
	machine.Loopback(t)
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v5.channel.k8s.io"}}); err == nil {
			<-over // and reads nothing
			_ = ws.CloseNow()
		}
	}))
	defer server.Close()
	defer close(over)
	p := kube.APIBy(server.Client(), server.URL).Attach(t, time.Second)
	done := make(chan struct{}, 2)
	for _, send := range []func() error{
		func() error { _, err := p.Stdin().Write(make([]byte, 1<<20)); return err },
		func() error { return p.Stdin().Close() },
	} {
		go func() {
			for send() == nil { // at first, buffers on the way take everything
			}
			done <- struct{}{}
		}()
	}
	for range 2 {
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("it goes on")
		}
	}
	_ = p.Kill()
}

// TestServerWithTooMuchToDo turns requests away twice, which have not been done then: they are sent again, whatever they are.
func TestServerWithTooMuchToDo(t *testing.T) {
	machine.Loopback(t)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) <= 2 {
				http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
				return
			}
			_, _ = w.Write([]byte("{}"))
		}))
		defer server.Close()
		if err := kube.APIBy(server.Client(), server.URL).Ask(t.Context(), method, "/", nil, nil); err != nil || asked.Load() != 3 {
			t.Errorf("%s was asked %d times: %v", method, asked.Load(), err)
		}
	}
}
