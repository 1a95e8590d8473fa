package dial

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

// answers returns a handler that answers every request with the status, headers and body.
func answers(status int, headers map[string]string, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// engineOf returns a handler that answers a ping like an engine with this API version. It is used only for
// old and broken engines; working ones are real.
func engineOf(version string) http.Handler {
	return answers(http.StatusOK, map[string]string{"Api-Version": version, "Ostype": "linux"}, "OK")
}

func serve(t *testing.T, h http.Handler) Target {
	t.Helper()
	machine.Loopback(t)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Target{Host: "tcp://" + s.Listener.Addr().String(), Source: flag}
}

func TestAnswers(t *testing.T) {
	clean(t)
	const noEngine = "an HTTP server, not a Docker engine"
	for _, c := range []struct {
		what           string
		h              http.Handler
		reason, remedy string
	}{
		{"old", engineOf("1.24"), "its API has version 1.24, but nettoll needs at least 1.40", "Docker 19.03"},
		{"page", answers(http.StatusOK, nil, "<html>hello</html>"), noEngine, "--docker-host"},
		{"not found", answers(http.StatusNotFound, nil, "404\npage not found"), noEngine + ": 404 page not found", "--docker-host"},
		{"empty", answers(http.StatusNotFound, nil, ""), noEngine, "--docker-host"},
		{"long page", answers(http.StatusBadGateway, nil, "<html>"+strings.Repeat("no ", 1000)+"</html>"), noEngine, "--docker-host"},
		{"redirect", http.RedirectHandler("/elsewhere", http.StatusMovedPermanently), noEngine, "--docker-host"},
		{"no version", engineOf("latest"), "its API has version latest", "Docker 19.03"},
		{"Windows", answers(http.StatusOK, map[string]string{"Api-Version": "1.41", "Ostype": "windows"}, "OK"), "Windows containers", "Linux containers"},
		{"refuses", answers(http.StatusForbidden, map[string]string{"Api-Version": "1.41", "Content-Type": "application/json"},
			`{"message": "authorization denied\nby plugin"}`), "it answers: authorization denied by plugin", "log"},
		{"proxy", answers(http.StatusUnauthorized, nil, "who are you?"), noEngine + ": who are you?", "--docker-host"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := Connect(t.Context(), serve(t, c.h))
			unreachable(t, err, c.reason, c.remedy)
		})
	}
}

func TestNoHTTP(t *testing.T) {
	clean(t)
	machine.Loopback(t)
	for _, c := range []struct{ says, reason, remedy string }{
		{"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP", "--docker-host"},
		{"\x15\x03\x01\x00\x02\x02\x16", "do not agree on TLS", "DOCKER_TLS_VERIFY=1"},
		{"", "it ends the connection without an answer", "log"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		iferr.Fatal(t, err)
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, c.says)
				conn.Close()
			}
		}()
		_, err = Connect(t.Context(), Target{Host: "tcp://" + l.Addr().String()})
		unreachable(t, err, c.reason, c.remedy)
	}
}

func TestNegotiation(t *testing.T) {
	clean(t)
	for _, c := range []struct{ engine, asked, want, reason string }{
		{engine: "1.40", want: "1.40"},
		{engine: "1.41", want: "1.41"},
		{engine: "1.999", want: client.MaxAPIVersion},
		{engine: "1.41", asked: "1.41", want: "1.41"},
		{engine: "1.45", asked: "v1.43", want: "1.43"},
		{engine: "1.41", asked: "1.50", reason: "DOCKER_API_VERSION is 1.50, which is not between 1.40 and the engine's 1.41"},
		{engine: "1.41", asked: "1.39", reason: "DOCKER_API_VERSION is 1.39, which is not between 1.40 and the engine's 1.41"},
		{engine: "1.41", asked: "latest", reason: "invalid API version (latest)"},
	} {
		t.Setenv("DOCKER_API_VERSION", c.asked)
		engine, err := Connect(t.Context(), serve(t, engineOf(c.engine)))
		if c.reason != "" {
			unreachable(t, err, c.reason, "DOCKER_API_VERSION")
			continue
		}
		if err != nil {
			t.Errorf("engine %s, asked for %q: %v", c.engine, c.asked, err)
			continue
		}
		if got := engine.ClientVersion(); got != c.want {
			t.Errorf("engine %s, asked for %q: %s is spoken, want %s", c.engine, c.asked, got, c.want)
		}
		engine.Close()
	}
}

func TestHeaders(t *testing.T) {
	f := clean(t)
	seen := make(chan http.Header, 8)
	target := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		engineOf("1.41").ServeHTTP(w, r)
	}))
	write(t, string(f), "config.json", `{"HttpHeaders": {"X-Way": "configured"}}`, 0o600)
	for env, want := range map[string]string{"": "configured", `x-way=from env,"X-Other=a,b"`: "from env"} {
		t.Setenv("DOCKER_CUSTOM_HEADERS", env)
		found, err := Resolve(target.Host)
		iferr.Fatal(t, err)
		c, err := Connect(t.Context(), found)
		iferr.Fatal(t, err)
		c.Close()
		if len(seen) == 0 {
			t.Error("the engine was asked nothing")
		}
		for range len(seen) {
			if got := (<-seen).Get("X-Way"); got != want {
				t.Errorf("DOCKER_CUSTOM_HEADERS=%s: the engine saw %q, want %q", env, got, want)
			}
		}
	}
	for _, env := range []string{"nothing", "=x", `"`} {
		t.Setenv("DOCKER_CUSTOM_HEADERS", env)
		_, err := Resolve(target.Host)
		unreachable(t, err, "DOCKER_CUSTOM_HEADERS", "NAME=VALUE")
	}
}
