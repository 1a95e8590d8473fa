package dial

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform/lab"
)

func TestSockets(t *testing.T) {
	clean(t)
	dir := t.TempDir()

	_, err := Connect(t.Context(), Target{Host: "unix://" + dir + "/none", Source: "default socket"})
	u := unreachable(t, err, "no such socket", "is dockerd running? start it, or name another engine with --docker-host")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %#v", u.Err)
	}
	want := "docker engine at unix://" + dir + "/none (default socket): no such socket; is dockerd running? "
	if !strings.HasPrefix(u.Error(), want) {
		t.Errorf("%v does not begin with %q", u, want)
	}

	_, err = Connect(t.Context(), Target{Host: "unix://" + write(t, dir, "file", "", 0o600)})
	unreachable(t, err, "nobody listens there", "is dockerd running?")

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/stale"})
	iferr.Fatal(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	_, err = Connect(t.Context(), Target{Host: "unix://" + dir + "/stale"})
	unreachable(t, err, "nobody listens there", "is dockerd running?")

	_, err = Connect(t.Context(), Target{Host: "unix://" + dir + "/" + strings.Repeat("long", 40)})
	unreachable(t, err, "too long", "--docker-host")

	_, err = Connect(t.Context(), Target{})
	unreachable(t, err, "cannot use", "unix://PATH")
}

// connectAs connects as an ordinary user who is in the groups, and returns the error.
func connectAs(t *testing.T, host string, groups ...uint32) string {
	t.Helper()
	const nobody = 65534
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), connectTo+"="+host)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: groups}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// foreignGroup returns a group of this machine that is neither root's nor nobody's.
func foreignGroup(t *testing.T) (name string, gid uint32) {
	t.Helper()
	for _, name := range []string{"docker", "daemon", "users"} {
		if g, err := user.LookupGroup(name); err == nil {
			n, err := strconv.ParseUint(g.Gid, 10, 32)
			iferr.Fatal(t, err)
			return name, uint32(n)
		}
	}
	t.Skip("no group of this machine has a known name")
	return "", 0
}

// openTo gives other users access to the folders above a test's own.
func openTo(t *testing.T, dir string) {
	t.Helper()
	for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		iferr.Fatal(t, os.Chmod(d, 0o755))
	}
}

func TestPermission(t *testing.T) {
	if !lab.AsRoot() {
		t.Skip("only root can become another user")
	}
	clean(t)
	dir := t.TempDir()
	openTo(t, dir)
	l, err := net.Listen("unix", dir+"/s")
	iferr.Fatal(t, err)
	defer l.Close()
	for _, mode := range []os.FileMode{0o755, 0o700} { // first the socket is inaccessible, then the folder as well
		iferr.Fatal(t, errors.Join(os.Chmod(dir+"/s", 0o660), os.Chmod(dir, mode)))
		const want = "permission denied; run as root, or join the group"
		if got := connectAs(t, "unix://"+dir+"/s"); !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("folder %v: %s\nwant %s", mode, got, want)
		}
	}
}

func TestTCPRefusals(t *testing.T) {
	clean(t)
	machine.Loopback(t)
	nobody := freePort(t)
	_, err := Connect(t.Context(), Target{Host: "tcp://" + nobody})
	unreachable(t, err, nobody+": connect: connection refused", "is dockerd running there with -H tcp://"+nobody)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the cause is lost: %v", err)
	}
	_, err = Connect(t.Context(), Target{Host: "tcp://no-such-machine.invalid:2375"})
	unreachable(t, err, "lookup no-such-machine.invalid", "check the address and the network")
	_, err = Connect(t.Context(), Target{Host: "tcp://198.18.0.1:2375"}) // the lab has no route
	unreachable(t, err, "network is unreachable", "check the address and the network")
}

func TestSilence(t *testing.T) {
	clean(t)
	machine.Loopback(t)
	for scheme, remedy := range map[string]string{"unix": "it may hang", "tcp": "no firewall drops"} {
		address := t.TempDir() + "/s"
		if scheme == "tcp" {
			address = "127.0.0.1:0"
		}
		l, err := net.Listen(scheme, address)
		iferr.Fatal(t, err)
		defer l.Close()
		target := Target{Host: scheme + "://" + l.Addr().String()}
		_, err = connect(t.Context(), target, 50*time.Millisecond)
		unreachable(t, err, "no answer within 50ms", remedy)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the cause is lost: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		_, err = Connect(ctx, target)
		var u *Unreachable
		if !errors.Is(err, context.Canceled) || errors.As(err, &u) {
			t.Errorf("interrupted: %v", err)
		}
	}
}
