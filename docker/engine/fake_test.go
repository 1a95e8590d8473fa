package engine

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"nettoll/internal/origin"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
	"nettoll/platform/platformtest"
)

// fake returns an engine whose answers to requests, such as "GET /info", are those of a function. Without a status, it breaks
// off the connection.
func fake(t *testing.T, image Image, answer func(request string) (status int, body string)) *Engine {
	t.Helper()
	machine.Loopback(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if strings.HasPrefix(path, "/v1.") {
			path = path[strings.Index(path[1:], "/")+1:]
		}
		if path == "/events" {
			<-r.Context().Done()
			return
		}
		status, body := answer(r.Method + " " + path)
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.WithHost("tcp://" + s.Listener.Addr().String()))
	iferr.Fatal(t, err)
	e := NewEngine(c, "0123456789abcdef", image)
	t.Cleanup(func() { iferr.Error(t, e.Close(context.Background())) })
	return e
}

// TestEnginesWithoutHostNetwork checks that what engines refuse for good, as those that remap users do, is no fault: overlays
// between their machines can be measured.
func TestEnginesWithoutHostNetwork(t *testing.T) {
	status := http.StatusBadRequest
	e := fake(t, Image{Given: "theirs"}, func(request string) (int, string) {
		if request == "POST /containers/create" {
			return status, `{"message": "cannot share the host's network namespace when user namespaces are enabled"}`
		}
		return http.StatusOK, `{"Id": "sha256:1"}`
	})
	for _, status = range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusInternalServerError} {
		_, err := Borrow(e, 0, false).Machine(t.Context(), "a", netip.Addr{})
		if err == nil || !strings.Contains(err.Error(), "user namespaces are enabled") || errors.Is(err, platform.ErrUnsupported) != (status < 500) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

// TestRootless checks that the network of this machine is not taken for that of a rootless engine's host.
func TestRootless(t *testing.T) {
	e := fake(t, Image{Given: "theirs"}, func(request string) (int, string) {
		if strings.HasPrefix(request, "POST ") {
			t.Errorf("%s was requested", request)
		}
		return http.StatusOK, `{"SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"]}`
	})
	if here, err := e.Here(t.Context()); here || err != nil {
		t.Errorf("here: %t, %v", here, err)
	}
	if !Borrow(e, 0, false).Rootless(t.Context()) {
		t.Error("it is not taken for rootless")
	}
}

// TestOneNodeTwice names one engine of a swarm twice.
func TestOneNodeTwice(t *testing.T) {
	e := fake(t, Image{}, func(request string) (int, string) {
		switch request {
		case "GET /info":
			return http.StatusOK, `{"Name": "a", "Swarm": {"NodeID": "1", "LocalNodeState": "active", "ControlAvailable": true}}`
		case "GET /nodes":
			return http.StatusOK, `[{"ID": "1", "Status": {"State": "ready"}}]`
		}
		return http.StatusOK, `{}`
	})
	one, two := Borrow(e, 0, false), Borrow(e, 1, false)
	if _, err := FindSwarm(t.Context(), []*Host{one}); err != nil {
		t.Error(err)
	}
	_, err := FindSwarm(t.Context(), []*Host{one, two})
	const want = "docker: engine h1 (on a) and engine h2 (on a) are one node of the swarm: name each engine once"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestRulesOfNFTables checks that an engine whose rules iptables-save does not show is not taken for one without rules, whose
// ports only docker-proxy serves. Here the program nft writes rules like those of such an engine.
func TestRulesOfNFTables(t *testing.T) {
	_, err := exec.LookPath("nft")
	platformtest.Require(t, "nft", err)
	nft := func(rules string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "nft", rules).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, backend := range []string{"nftables", "nftables+firewalld"} {
		e := fake(t, Image{}, func(string) (int, string) {
			return http.StatusOK, `{"FirewallBackend": {"Driver": "` + backend + `"}}`
		})
		h := Borrow(e, 0, true)
		if f, err := h.Firewall(t.Context()); err != nil || !f.None {
			t.Errorf("%s, without a table: %+v, %v", backend, f, err)
		}
		nft(`table ip docker-bridges { chain nat-prerouting-and-output { iifname != "docker0" tcp dport 20001 counter dnat to 198.19.0.2:20001; }; }`)
		f, err := h.Firewall(t.Context())
		if err != nil || f.None {
			t.Errorf("%s: %+v, %v", backend, f, err)
		}
		if n, err := f.Translations(t.Context(), netip.MustParseAddr("198.19.0.2")); n != 0 || err != nil {
			t.Errorf("%s: %d connections were counted, %v", backend, n, err)
		}
		_, err = f.Translations(t.Context(), netip.MustParseAddr("198.19.0.3"))
		if !errors.Is(err, platform.ErrUnsupported) || !strings.Contains(err.Error(), "no rule leads to 198.19.0.3") {
			t.Errorf("%s, of another container: %v", backend, err)
		}
		nft("delete table ip docker-bridges")
	}
}

// TestImageOfAnotherRelease checks that an image that is nettoll's, or was made from it, is of this version. Other images have
// versions that are not nettoll's.
func TestImageOfAnotherRelease(t *testing.T) {
	own := strings.ReplaceAll(origin.Version(), "+", "-")
	for _, c := range []struct{ title, version, want string }{
		{"nettoll", own, ""},
		{"nettoll", "0.0.1", "docker: image theirs has nettoll 0.0.1, and this is " + own + "; use the image of the same release"},
		{"nettoll", "", ""},
		{"", "22.04", ""},
		{"theirs", "0.0.1", ""},
	} {
		e := fake(t, Image{Given: "theirs"}, func(string) (int, string) {
			return http.StatusOK, `{"Id": "sha256:1", "Config": {"Labels": {"` + titleLabel + `": "` + c.title + `", "` + versionLabel + `": "` + c.version + `"}}}`
		})
		_, err := e.Load(t.Context())
		if err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%s %s: %v, want %q", c.title, c.version, err, c.want)
		}
	}
}

// TestLate checks that what an engine makes after nettoll has stopped waiting for it is removed in the end, and nothing else.
func TestLate(t *testing.T) {
	var mu sync.Mutex
	var removed []string
	var list string
	e := fake(t, Image{Given: "theirs"}, func(request string) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		id, removal := strings.CutPrefix(request, "DELETE ")
		switch {
		case removal:
			removed = append(removed, id)
			return http.StatusNoContent, ""
		case request == "POST /networks/create":
			return 0, ""
		case request == "GET /networks":
			return http.StatusOK, list
		case request == "GET /containers/json", request == "GET /images/json":
			return http.StatusOK, `[]`
		case strings.HasPrefix(request, "GET /networks/"):
			return http.StatusNotFound, `{"message": "no such network"}`
		}
		return http.StatusOK, `{}`
	})
	one := func(id, name, run, process string) string {
		return `{"Id": "` + id + `", "Name": "` + name + `", "Labels": {"` + Label + `": "` + run + `", "` + processLabel + `": "` + process + `"}}`
	}
	late, other := e.name("late"), e.name("other")
	list = "[" + strings.Join([]string{
		one("1", late, e.Run, e.process), one("2", other, e.Run, e.process), one("3", late, e.Run, "another"), one("4", late, "another", e.process),
	}, ",") + "]"
	if _, err := Borrow(e, 0, false).Network(t.Context(), NetworkSpec{Name: "late", Driver: "bridge"}); err == nil {
		t.Error("a network was made without an answer")
	}
	iferr.Error(t, e.Close(t.Context()))
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(removed, []string{"/networks/1"}) {
		t.Errorf("removed: %q", removed)
	}
}

// TestLeftAtItsStart checks that a container that could not be started, and not be removed at once either, is removed in the end.
func TestLeftAtItsStart(t *testing.T) {
	was := refusalTime
	refusalTime = 50 * time.Millisecond
	t.Cleanup(func() { refusalTime = was })
	var refuses, there atomic.Bool
	var e *Engine
	e = fake(t, Image{Given: "theirs"}, func(request string) (int, string) {
		switch request {
		case "POST /containers/create":
			refuses.Store(true)
			there.Store(true)
			return http.StatusCreated, `{"Id": "1"}`
		case "POST /containers/1/attach":
			return http.StatusInternalServerError, `{"message": "no"}`
		case "DELETE /containers/1":
			if refuses.Load() {
				return http.StatusConflict, `{"message": "not now"}`
			}
			there.Store(false)
			return http.StatusNoContent, ""
		case "GET /containers/json":
			if !there.Load() {
				return http.StatusOK, `[]`
			}
			return http.StatusOK, `[{"Id": "1", "Names": ["/` + e.name("h1c1") + `"], "Labels": {"` + Label + `": "` + e.Run + `", "` + processLabel + `": "` + e.process + `"}}]`
		case "GET /networks", "GET /images/json":
			return http.StatusOK, `[]`
		}
		return http.StatusOK, `{"Id": "sha256:1"}`
	})
	_, err := Borrow(e, 0, false).Run(t.Context(), Spec{Mode: "bridge"})
	if err == nil || !strings.Contains(err.Error(), "not now") || !there.Load() {
		t.Fatalf("%v; there: %t", err, there.Load())
	}
	refuses.Store(false)
	iferr.Error(t, e.Close(t.Context()))
	if there.Load() {
		t.Error("it is left")
	}
}

// TestTaskOnARestartedEngine checks that a task is not said to have been lost with an engine that was restarted before it.
func TestTaskOnARestartedEngine(t *testing.T) {
	e := fake(t, Image{Given: "theirs"}, func(request string) (int, string) {
		if strings.HasPrefix(request, "POST ") {
			return http.StatusConflict, `{"message": "the container is paused"}`
		}
		return http.StatusOK, `{"Id": "1", "State": {"Pid": 1}, "NetworkSettings": {"Networks": {}}}`
	})
	e.deaths.mu.Lock()
	e.deaths.breaks++
	e.deaths.mu.Unlock()
	if _, err := Borrow(e, 0, false).adopt(t.Context(), "h1c1", "1", "net"); err == nil || !strings.Contains(err.Error(), "the container is paused") {
		t.Error(err)
	}
}

// TestEngineOfAnotherCPU has engines whose machines have CPUs of another kind: no image is made there, and one that is given must be
// for them, or for what they run as well.
func TestEngineOfAnotherCPU(t *testing.T) {
	for _, c := range []struct{ machine, given, want string }{
		{"m68k", "", "this machine's programs on the engine's: not supported here (needs CPUs of the kind " + runtime.GOARCH + " there, which are m68k"},
		{"m68k", "m68k", ""}, {"m68k", "arm64", "image theirs is for CPUs of the kind arm64, and the engine's are m68k; "},
		{"aarch64", "arm", ""}, {"x86_64", "386", ""}, {"x86_64", "arm", "the engine's are amd64"}, {"armv7l", "arm", ""}, {"armv7l", "arm64", "the engine's are arm"},
	} {
		image := ""
		if c.given != "" {
			image = "theirs"
		}
		e := fake(t, Image{Given: image}, func(request string) (int, string) {
			switch request {
			case "GET /info":
				return http.StatusOK, `{"Architecture": "` + c.machine + `"}`
			case "GET /images/theirs/json":
				return http.StatusOK, `{"Id": "1", "Architecture": "` + c.given + `"}`
			}
			return http.StatusTeapot, `{"message": "it was asked for more"}`
		})
		ref, err := e.Load(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && ref != image {
			t.Errorf("%+v: %q, %v", c, ref, err)
		}
		if lacks, is := errors.AsType[*platform.Unsupported](err); is != (image == "") || is && !strings.Contains(lacks.Remedy, "--docker-image") {
			t.Errorf("%+v: %+v", c, lacks)
		}
	}
}

// TestWithoutIPv6 has engines of kernels without IPv6: containers are made again, without parameters that are not there.
func TestWithoutIPv6(t *testing.T) {
	for _, said := range []string{
		`runc create failed: unable to start container process: error during container init: open /proc/sys/net/ipv6/conf/all/disable_ipv6: no such file or directory`,
		"crun: open `/proc/sys/net/ipv6/conf/all/disable_ipv6`: No such file or directory: OCI runtime attempted to invoke a command that was not found",
		"something else",
	} {
		e := &Engine{}
		without := strings.Contains(said, "ipv6")
		if got := e.lacksIPv6(errors.New(said)); got != without {
			t.Errorf("%s: %v", said, got)
		}
		o := e.options(Spec{Name: "h1c1", full: "x", Mode: "none"}, "image")
		if len(o.HostConfig.Sysctls) == 0 != without {
			t.Errorf("%s: then %v is set", said, o.HostConfig.Sysctls)
		}
	}
}

// TestPodman has an engine say that it is Podman: then its own API says what Docker's leaves out.
func TestPodman(t *testing.T) {
	for _, podman := range []bool{true, false} {
		var answers atomic.Bool // to what it is
		e := fake(t, Image{Given: "theirs"}, func(request string) (int, string) {
			switch request {
			case "GET /version":
				if podman {
					return http.StatusOK, `{"Components": [{"Name": "Podman Engine", "Version": "5.4.2"}, {"Name": "Conmon", "Version": "2.1"}]}`
				}
				return http.StatusOK, `{"Components": [{"Name": "Engine", "Version": "29.0.0"}]}`
			case "GET /info":
				if !answers.Load() {
					return http.StatusInternalServerError, `{"message": "busy"}`
				}
				return http.StatusOK, `{"ServerVersion": "1"}`
			case "GET /networks/bridge":
				return http.StatusOK, `{"Name": "bridge", "Id": "2f259bab93aaaaa2542ba43ef33eb990d0999ee1b9924b557b7be53c0b7a1bb9"}`
			case "GET /v4.0.0/libpod/networks/2f259bab93aaaaa2542ba43ef33eb990d0999ee1b9924b557b7be53c0b7a1bb9/json":
				return http.StatusOK, `{"name": "podman", "network_interface": "podman7"}`
			case "POST /v4.0.0/libpod/containers/c1/init":
				return http.StatusInternalServerError, `{"cause": "x", "message": "crun: no such controller", "response": 500}`
			}
			return http.StatusNotFound, `{"message": "what?"}`
		})
		device, text, reason := "br-2f259bab93aa", "Docker Engine 1", "unable to upgrade"
		if podman {
			device, text, reason = "podman7", "Podman 5.4.2", "crun: no such controller"
		}
		if got, err := Borrow(e, 0, false).Bridge(t.Context(), "bridge"); got != device || err != nil {
			t.Errorf("the bridge is %q, %v; want %q", got, err, device)
		}
		if got := e.describe(); got != "" {
			t.Errorf("an engine that does not answer is %q", got)
		}
		answers.Store(true)
		if got := e.describe(); got != text {
			t.Errorf("the engine is %q, want %q", got, text)
		}
		if got := e.unattachable(t.Context(), "c1", errors.New("unable to upgrade")); got.Error() != reason {
			t.Errorf("a container cannot be attached to: %v, want %q", got, reason)
		}
	}
}

// TestProcessThatIsNotEnded has an engine that does not end a process: a private one ends itself instead, once its network is taken
// down.
func TestProcessThatIsNotEnded(t *testing.T) {
	for _, private := range []bool{true, false} {
		e := fake(t, Image{Given: "theirs"}, func(request string) (int, string) {
			if request == "POST /containers/c1/kill" {
				return http.StatusInternalServerError, `{"message": "no shim"}`
			}
			return http.StatusOK, `[]`
		})
		e.private = private
		ours, theirs := net.Pipe()
		defer theirs.Close()
		p := (&Container{engine: e, id: "c1"}).stream(client.HijackedResponse{Conn: ours, Reader: bufio.NewReader(ours)}, platform.Command{}, func() error { return nil })
		if err := p.Kill(); (err == nil) != private {
			t.Errorf("private %v: %v", private, err)
		}
		discarded := false
		h := &Hosts{Docker: []*Host{{Engine: e}}, Discard: func(context.Context) error { discarded = true; return nil }}
		if err := h.Close(t.Context()); err != nil || discarded != private {
			t.Errorf("private %v: %v, discarded %v", private, err, discarded)
		}
	}
}
