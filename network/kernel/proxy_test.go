package kernel_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/network/kernel"
)

func TestServerBeyondThePorts(t *testing.T) {
	serve := kernel.Handlers()["published.serve"]
	for _, server := range []int64{-1, 1, 1 << 40} {
		params := fmt.Sprintf(`[{"Server": %d, "Listen": "127.0.0.1:1", "To": "127.0.0.1:2"}]`, server)
		if _, err := serve(t.Context(), json.RawMessage(params)); err == nil || !strings.Contains(err.Error(), "of 1 ports") {
			t.Errorf("server %d: %v", server, err)
		}
	}
}

// proxied starts a proxy at an address, which forwards to a listener.
func proxied(t *testing.T) (at *net.TCPAddr, echo net.Listener, h map[string]agent.Handler) {
	t.Helper()
	machine.Loopback(t)
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	iferr.Fatal(t, err)
	t.Cleanup(func() { echo.Close() })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	iferr.Fatal(t, err)
	at = free.Addr().(*net.TCPAddr)
	free.Close()
	h = kernel.Handlers()
	params := fmt.Sprintf(`[{"Server": 0, "Listen": %q, "To": %q}]`, at, echo.Addr())
	if _, err := h["published.serve"](t.Context(), json.RawMessage(params)); err != nil {
		t.Fatal(err)
	}
	return at, echo, h
}

// TestProxyWithoutFiles makes a connection while no file can be opened, and then allows it again.
func TestProxyWithoutFiles(t *testing.T) {
	at, echo, _ := proxied(t)
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	iferr.Fatal(t, err)
	defer unix.Close(client)
	var was unix.Rlimit
	iferr.Fatal(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	// A new descriptor's number must be below the limit: with 0 there is none, whatever is closed meanwhile.
	limit := unix.Rlimit{Cur: 0, Max: was.Max}
	iferr.Fatal(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	err = unix.Connect(client, &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte{127, 0, 0, 1}})
	before := cpuTime(t)
	time.Sleep(500 * time.Millisecond)
	used := cpuTime(t) - before
	iferr.Fatal(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
	iferr.Fatal(t, err)
	if used > 100*time.Millisecond {
		t.Errorf("it used %v of CPU time in half a second, waiting for a file", used)
	}
	iferr.Fatal(t, echo.(*net.TCPListener).SetDeadline(time.Now().Add(20*time.Second)))
	conn, err := echo.Accept()
	if err != nil {
		t.Fatalf("with files again, the connection is not carried: %v", err)
	}
	conn.Close()
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	iferr.Fatal(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestProxiedConnectionsObey checks that both connections of the proxy use the congestion control that was set before they
// were made.
func TestProxiedConnectionsObey(t *testing.T) {
	at, echo, h := proxied(t)
	if _, err := h["published.control"](t.Context(), json.RawMessage(`"invented"`)); err == nil || !strings.Contains(err.Error(), `congestion control "invented"`) {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"reno", "", "reno"} {
		if _, err := h["published.control"](t.Context(), json.RawMessage(fmt.Sprintf("%q", want))); err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", at.String())
		iferr.Fatal(t, err)
		server, err := echo.Accept()
		iferr.Fatal(t, err)
		own, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
		iferr.Fatal(t, err)
		want = cmp.Or(want, strings.TrimSpace(string(own)))
		// The proxy's ends are in this process, too: they are the sockets whose peers these two are.
		for peer, c := range map[string]net.Conn{"client": client, "server": server} {
			if got := controlOf(t, c.RemoteAddr(), c.LocalAddr()); got != want {
				t.Errorf("towards the %s the proxy uses %s, want %s", peer, got, want)
			}
		}
		client.Close()
		server.Close()
	}
}

// controlOf returns the congestion control of this process' TCP connection between two addresses.
func controlOf(t *testing.T, local, remote net.Addr) string {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	iferr.Fatal(t, err)
	port := func(a unix.Sockaddr) int {
		if in, ok := a.(*unix.SockaddrInet4); ok {
			return in.Port
		}
		return -1
	}
	for _, f := range open {
		var fd int
		if _, err := fmt.Sscan(f.Name(), &fd); err != nil {
			continue
		}
		from, err := unix.Getsockname(fd)
		if err != nil || port(from) != local.(*net.TCPAddr).Port {
			continue
		}
		to, err := unix.Getpeername(fd)
		if err != nil || port(to) != remote.(*net.TCPAddr).Port {
			continue
		}
		name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		iferr.Fatal(t, err)
		return name
	}
	t.Fatalf("no connection from %s to %s", local, remote)
	return ""
}
