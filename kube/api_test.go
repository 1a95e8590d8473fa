package kube_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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
