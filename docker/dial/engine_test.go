package dial

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"nettoll/docker/dockertest"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform/platformtest"
)

// realEngine is a dockerd that belongs to the test. It listens on a socket and, over TLS with client
// certificates, on a port.
type realEngine struct {
	*dockertest.Engine
	tcp       string
	group     string // the group that owns the socket
	gid       uint32
	authority *authority
}

func startEngine(t *testing.T) *realEngine {
	t.Helper()
	if _, err := exec.LookPath("docker"); err != nil {
		platformtest.Require(t, "dockerd", err)
	}
	machine.Loopback(t)
	e := &realEngine{tcp: freePort(t), authority: newAuthority(t, "the engine's")}
	e.group, e.gid = foreignGroup(t)
	own := e.authority.issue(t, "127.0.0.1", time.Now().Add(time.Hour)).store(t, e.authority.pem)
	e.Engine = dockertest.Start(t, "", "--bridge", "none", "--iptables=false", "--group", e.group, "-H", "tcp://"+e.tcp,
		"--tlsverify", "--tlscacert", own+"/ca.pem", "--tlscert", own+"/cert.pem", "--tlskey", own+"/key.pem")
	return e
}

// use uses a client as nettoll does: it sends a request, and opens a stream in both directions.
func use(t *testing.T, target Target) {
	t.Helper()
	c, err := Connect(t.Context(), target)
	iferr.Fatal(t, err)
	defer c.Close()
	info, err := c.Info(t.Context(), client.InfoOptions{})
	if err != nil || info.Info.ServerVersion == "" {
		t.Fatalf("%s: %v, version %q", target, err, info.Info.ServerVersion)
	}
	if _, err := c.ContainerInspect(t.Context(), "nobody", client.ContainerInspectOptions{}); err == nil || !strings.Contains(err.Error(), "No such container") {
		t.Errorf("%s: a container that is not there: %v", target, err)
	}
	stream, err := c.DialHijack(t.Context(), "/session", "h2c", map[string][]string{"X-Docker-Expose-Session-Uuid": {t.Name() + target.Source}})
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	defer stream.Close()
	iferr.Error(t, stream.SetDeadline(time.Now().Add(30*time.Second)))
	closer, ok := stream.(client.CloseWriter)
	if !ok {
		t.Fatalf("%s: a stream (%T) whose one half cannot be closed", target, stream)
	}
	iferr.Error(t, closer.CloseWrite())
	if _, err := io.Copy(io.Discard, stream); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s: the engine does not see the end of a stream: %v", target, err)
	}
}

func TestEngine(t *testing.T) {
	e := startEngine(t)
	socket := "unix://" + e.Socket()
	t.Run("socket", func(t *testing.T) {
		clean(t)
		t.Setenv("DOCKER_HOST", socket)
		target, err := Resolve("")
		iferr.Fatal(t, err)
		use(t, target)
	})
	t.Run("TLS", func(t *testing.T) { e.overTLS(t) })
	t.Run("permission", func(t *testing.T) {
		clean(t)
		if got := connectAs(t, socket); !strings.Contains(got, "permission denied") {
			t.Error(got)
		}
		if got := connectAs(t, socket, e.gid); got != "<nil>" {
			t.Errorf("a member of group %s: %s", e.group, got)
		}
	})
	t.Run("ssh", func(t *testing.T) { e.overSSH(t) })
}

func (e *realEngine) overTLS(t *testing.T) {
	f := clean(t)
	mine := e.authority.issue(t, "me", time.Now().Add(time.Hour))
	addContext(t, f, "prod", "tcp://"+e.tcp, map[string][]byte{
		"ca.pem": []byte(e.authority.pem), "cert.pem": []byte(mine.cert), "key.pem": []byte(mine.key),
	})
	byContext, err := Resolve("prod")
	iferr.Fatal(t, err)
	use(t, byContext)
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	t.Setenv("DOCKER_CERT_PATH", mine.store(t, e.authority.pem))
	byEnv, err := Resolve("tcp://" + e.tcp)
	iferr.Fatal(t, err)
	use(t, byEnv)

	t.Setenv("DOCKER_CERT_PATH", pair{}.store(t, e.authority.pem))
	bare, err := Resolve("tcp://" + e.tcp)
	iferr.Fatal(t, err)
	_, err = Connect(t.Context(), bare)
	unreachable(t, err, "TLS", "DOCKER_CERT_PATH")
	_, err = Connect(t.Context(), Target{Host: "tcp://" + e.tcp})
	unreachable(t, err, "do not agree on TLS", "DOCKER_TLS_VERIFY=1")
}

// overSSH replaces ssh by a program that does here what ssh would have done on the machine that it logs in
// to; the engine that it reaches is real.
func (e *realEngine) overSSH(t *testing.T) {
	clean(t)
	dir := t.TempDir()
	write(t, dir, "ssh", "#!/bin/sh\necho $$ $* >>"+dir+"/calls\nexec docker -H unix://"+e.Socket()+" system dial-stdio\n", 0o700)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	target, err := Resolve("ssh://me@lab.example")
	iferr.Fatal(t, err)
	use(t, target)
	calls, err := os.ReadFile(dir + "/calls")
	if err != nil || !strings.Contains(string(calls), "-l me -o ConnectTimeout=8 -o ControlMaster=no -o ClearAllForwardings=yes -T -- lab.example docker system dial-stdio\n") {
		t.Errorf("ssh was called %q, %v", calls, err)
	}
	gone(t, "docker")

	// The message from the engine's machine if the engine is not there.
	write(t, dir, "ssh", "#!/bin/sh\nexec docker -H unix:///nowhere system dial-stdio\n", 0o700)
	_, err = Connect(t.Context(), target)
	unreachable(t, err, "ssh says: ", "try: ssh -l me -o BatchMode=yes -- lab.example docker version")
	if !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("what ssh said is lost: %v", err)
	}

	// A connection that breaks later reports why.
	write(t, dir, "ssh", "#!/bin/sh\ntest -e "+dir+"/broken && { echo the line is dead >&2; exit 255; }\nexec docker -H unix://"+e.Socket()+" system dial-stdio\n", 0o700)
	c, err := Connect(t.Context(), target)
	iferr.Fatal(t, err)
	defer c.Close()
	write(t, dir, "broken", "", 0o600)
	c.Close() // closes idle connections
	if _, err := c.Info(t.Context(), client.InfoOptions{}); err == nil || !strings.Contains(err.Error(), "ssh says: the line is dead") {
		t.Errorf("a broken line: %v", err)
	}
	iferr.Fatal(t, os.Remove(dir+"/broken"))
	if _, err := c.Info(t.Context(), client.InfoOptions{}); err != nil {
		t.Errorf("a line that works again: %v", err)
	}
}

// TestFewLoginsAtOnce opens one more connection than may log in at once. It waits until something has arrived on another one.
func TestFewLoginsAtOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ssh", "#!/bin/sh\nexec cat\n", 0o700)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	d, err := newDialer(Target{Host: "ssh://me@lab.example"})
	iferr.Fatal(t, err)
	opened := make(chan net.Conn)
	for range mostLogins + 1 {
		go func() {
			conn, err := d.open(t.Context(), "", "")
			iferr.Error(t, err)
			opened <- conn
		}()
	}
	var all []net.Conn
	for range mostLogins {
		all = append(all, <-opened)
	}
	select {
	case conn := <-opened:
		conn.Close()
		t.Fatalf("%d logins at once", mostLogins+1)
	case <-time.After(300 * time.Millisecond):
	}
	_, err = all[0].Write([]byte("x"))
	iferr.Error(t, err)
	_, err = all[0].Read(make([]byte, 1))
	iferr.Error(t, err)
	for _, conn := range append(all, <-opened) {
		iferr.Error(t, conn.Close())
	}
}

// TestDeadlines checks that a read from a silent engine can be abandoned.
func TestDeadlines(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ssh", "#!/bin/sh\nexec cat\n", 0o700)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	conn, err := dialSSH(nil, func(error) {}, func() {})
	iferr.Fatal(t, err)
	if _, err := conn.Write([]byte("echo")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(conn, b); err != nil || string(b) != "echo" {
		t.Errorf("%q, %v", b, err)
	}
	iferr.Fatal(t, conn.SetDeadline(time.Now()))
	var timeout net.Error
	if _, err := conn.Read(b); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a read after the deadline: %v", err)
	}
	iferr.Error(t, errors.Join(conn.Close(), conn.Close()))
	if _, err := conn.Read(b); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read after the end: %v", err)
	}
	if left := running(t, "cat"); len(left) != 0 {
		t.Errorf("Close leaves %v", left)
	}
}
