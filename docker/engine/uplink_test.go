package engine

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/internal/testutil/machine"
	"nettoll/platform"
)

func TestTCPAddresses(t *testing.T) {
	for engine, want := range map[string][]netip.Addr{
		"unix:///var/run/docker.sock": nil,
		"http://docker.example.com":   nil, // stands for an engine that is reached by ssh
		"tcp://192.0.2.1:2376":        {netip.MustParseAddr("192.0.2.1")},
		"tcp://[2001:db8::1]:2376":    {netip.MustParseAddr("2001:db8::1")},
	} {
		if got := tcpAddresses(t.Context(), engine); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", engine, got, want)
		}
	}
}

// TestEnginesWithoutHostNetwork checks that what engines refuse for good, as those that remap users do, is no fault: overlays
// between their machines can be measured.
func TestEnginesWithoutHostNetwork(t *testing.T) {
	machine.Loopback(t)
	status := http.StatusBadRequest
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/create"):
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"message": "cannot share the host's network namespace when user namespaces are enabled"}`)
		case strings.HasSuffix(r.URL.Path, "/events"):
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, `{"Id": "sha256:1"}`)
		}
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.WithHost("tcp://" + s.Listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine(c, "0123456789abcdef", Image{Given: "theirs"})
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, status = range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusInternalServerError} {
		_, err := Borrow(e, 0, false).Machine(t.Context(), "a", netip.Addr{})
		if err == nil || !strings.Contains(err.Error(), "user namespaces are enabled") || errors.Is(err, platform.ErrUnsupported) != (status < 500) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}
