// Package dockertest starts dockerd in the lab of a test, in place of an engine of the user.
package dockertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"nettoll/docker/engine"
	"nettoll/internal/cgroup"
	"nettoll/internal/daemon"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// Engine is a dockerd that belongs to a test. Its files are in memory.
type Engine struct {
	Dir  string
	cmd  *exec.Cmd
	args []string
	done chan struct{} // closed when it has ended
}

// Patience bounds every wait; it is not the expected time.
const Patience = 3 * time.Minute

// stopTime is how long dockerd has to end by itself, after which it is killed.
const stopTime = time.Minute

// group stands for the run id in the control groups of tests' engines.
const group = "7e577e577e57"

// apart is where an engine leaves files of the load balancers of its swarm, whatever its command line says.
var apart = daemon.Apart{Empty: []string{"/var/lib/docker"}}

// Start starts dockerd with additional arguments, and ends it with the test. size is the size of its
// file system in memory, for example 64m; empty means half of the memory.
func Start(t *testing.T, size string, args ...string) *Engine {
	t.Helper()
	platformtest.Require(t, "dockerd", engine.Available())
	if !lab.AsRoot() {
		platformtest.Require(t, "dockerd", errors.New("dockerd must be started by root"))
	}
	machine.Loopback(t)
	dir, err := os.MkdirTemp("/run", "engine-")
	iferr.Fatal(t, err)
	iferr.Fatal(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0711,size="+cmp.Or(size, "50%")))
	hold := cgroup.Hold(group) // otherwise nettoll clean would remove it
	e := &Engine{Dir: dir, args: args}
	t.Cleanup(func() {
		e.stop(t)
		iferr.Error(t, errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)))
		hold.Close()
		_, _ = cgroup.Sweep(group)
	})
	e.Start(t)
	return e
}

// Socket returns the path of the socket that it listens on.
func (e *Engine) Socket() string { return filepath.Join(e.Dir, "docker.sock") }

// Start starts dockerd, possibly again after it has ended, and waits for its answer.
func (e *Engine) Start(t *testing.T) {
	t.Helper()
	e.done = make(chan struct{})
	path, args, err := apart.Command(e.Dir, "dockerd", append([]string{
		"--data-root", e.Dir + "/data", "--exec-root", e.Dir + "/exec", "--pidfile", e.Dir + "/pid",
		"--host", "unix://" + e.Socket(), "--cgroup-parent", "/" + cgroup.Of(group),
	}, e.args...)...)
	iferr.Fatal(t, err)
	e.cmd = exec.Command(path, args...)
	log, err := os.OpenFile(e.Dir+"/log", os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600) // not a pipe: shims outlive dockerd
	iferr.Fatal(t, err)
	defer log.Close()
	e.cmd.Stdout, e.cmd.Stderr = log, log
	iferr.Fatal(t, e.cmd.Start())
	go func() { _ = e.cmd.Wait(); close(e.done) }()
	Until(t, "dockerd answers", func() bool {
		c, err := e.Dial(context.Background()) // the test may be over
		if err == nil {
			c.Close()
		}
		select {
		case <-e.done:
			said, _ := os.ReadFile(e.Dir + "/log")
			t.Fatalf("dockerd has ended: %s", said[max(0, len(said)-500):])
		default:
		}
		return err == nil
	})
}

// Dial returns a client.
func (e *Engine) Dial(ctx context.Context) (*client.Client, error) { return dial(ctx, e.Socket()) }

// dial connects to what listens on a socket.
func dial(ctx context.Context, socket string) (*client.Client, error) {
	c, err := client.New(client.WithHost("unix://" + socket))
	if err != nil {
		return nil, err
	}
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Client returns a client that is closed at the test's end.
func (e *Engine) Client(t *testing.T) *client.Client {
	t.Helper()
	c, err := e.Dial(context.Background())
	iferr.Fatal(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// Signal sends dockerd a signal.
func (e *Engine) Signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	iferr.Error(t, e.cmd.Process.Signal(s))
	if s == syscall.SIGSTOP { // threads stop one after the other
		Until(t, "all threads have stopped", func() bool {
			files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", e.cmd.Process.Pid))
			return err == nil && !slices.ContainsFunc(files, func(file string) bool {
				b, err := os.ReadFile(file)
				return err == nil && !strings.Contains(string(b), ") T ")
			})
		})
	}
}

// Kill kills dockerd with SIGKILL.
func (e *Engine) Kill(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(e.Dir + "/exec/containerd/containerd.pid")
	iferr.Fatal(t, err)
	containerd, err := strconv.Atoi(string(b))
	iferr.Fatal(t, err)
	e.end(t)
	// containerd dies with dockerd, and the lab reaps it.
	Until(t, "containerd has gone", func() bool { return unix.Kill(containerd, 0) != nil })
}

// stop removes all containers, so that none of them outlives the engine, and ends dockerd.
func (e *Engine) stop(t *testing.T) {
	select {
	case <-e.done:
		e.Start(t)
	default:
		_ = e.cmd.Process.Signal(syscall.SIGCONT)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	c := e.Client(t)
	all, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
	iferr.Error(t, err)
	for _, one := range all.Items {
		_, _ = c.ContainerRemove(ctx, one.ID, client.ContainerRemoveOptions{Force: true}) // it may be ending already
	}
	_ = e.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-e.done:
	case <-time.After(stopTime):
		e.hung(t)
	}
}

// hung logs what a dockerd is doing that was told to end and has not, and kills it. dockerd itself waits 15 s for its
// containers. This fails no test, since none is about how dockerd ends, but .ci/test shows the line.
func (e *Engine) hung(t *testing.T) {
	_ = e.cmd.Process.Signal(syscall.SIGUSR1) // it writes the stacks of its goroutines
	time.Sleep(time.Second)
	stacks, _ := filepath.Glob(e.Dir + "/*/goroutine-stacks-*.log")
	for _, file := range append(stacks, e.Dir+"/log") {
		said, _ := os.ReadFile(file)
		t.Logf("%s:\n%s", filepath.Base(file), said[max(0, len(said)-30000):])
	}
	t.Logf("killed: dockerd did not end within %v of SIGTERM", stopTime)
	e.end(t)
}

// end kills dockerd itself, and waits.
func (e *Engine) end(t *testing.T) {
	t.Helper()
	iferr.Fatal(t, e.cmd.Process.Kill())
	select {
	case <-e.done:
	case <-time.After(Patience):
		t.Fatalf("dockerd, process %d, did not end within %v of SIGKILL", e.cmd.Process.Pid, Patience)
	}
}

// Until waits for a condition.
func Until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}
