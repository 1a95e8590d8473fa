package docker_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
	"nettoll/platform/docker"
)

// remote is an engine of another machine's, which takes images and does nothing else.
type remote struct {
	*httptest.Server
	gone    atomic.Bool  // it does not answer any more
	makes   func()       // called when a container is to be made, which fails
	removed atomic.Int32 // images
}

// empty is a root filesystem.
type empty struct{}

func (empty) Stream(w io.Writer) error { return nil }

func startRemote(t *testing.T) *remote {
	t.Helper()
	machine.Loopback(t)
	r := &remote{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.gone.Load(), strings.HasSuffix(q.URL.Path, "/events"):
			<-q.Context().Done()
		case strings.HasSuffix(q.URL.Path, "/containers/create"):
			r.makes()
			w.WriteHeader(http.StatusInternalServerError)
		case q.Method == http.MethodDelete && strings.Contains(q.URL.Path, "/images/"):
			r.removed.Add(1)
			_, _ = io.WriteString(w, "[]")
		case strings.HasSuffix(q.URL.Path, "/images/json"):
			_, _ = io.WriteString(w, "[]")
		case strings.HasSuffix(q.URL.Path, "/json"):
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// platformOf returns the platform of the engines. near says that they may be on this machine.
func platformOf(near bool, engines ...*remote) *docker.Docker {
	o := docker.Options{Run: "0123456789abcdef", Image: engine.Image{Root: empty{}}}
	for _, r := range engines {
		o.Dial = append(o.Dial, func(context.Context) (*client.Client, bool, error) {
			c, err := client.New(client.WithHost("tcp://" + r.Listener.Addr().String()))
			return c, near, err
		})
	}
	return docker.New(o)
}

// TestOneEngineIsGone checks that an engine that does not answer keeps no other from being left as it was.
func TestOneEngineIsGone(t *testing.T) {
	gone, other := startRemote(t), startRemote(t)
	p := platformOf(false, gone, other)
	hosts, err := p.Engines(t.Context(), platform.HostRequest{Count: 2}, engine.Settings{})
	iferr.Fatal(t, err)
	for _, h := range hosts.Docker {
		_, err := h.Engine.Load(t.Context())
		iferr.Fatal(t, err)
	}
	gone.gone.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := p.Close(ctx); err == nil || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("closed with %v, want an error of one engine", err)
	}
	if n := other.removed.Load(); n != 1 {
		t.Errorf("the other engine was told %d times to remove its image", n)
	}
}

// TestInterruptedWhileAnEngineIsTried checks that the image that it has been given by then is removed.
func TestInterruptedWhileAnEngineIsTried(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := startRemote(t)
	r.makes = cancel
	if err := platformOf(true, r).Probe(ctx); err == nil {
		t.Error("a container was made")
	}
	if n := r.removed.Load(); n != 1 {
		t.Errorf("the engine was told %d times to remove its image", n)
	}
}
