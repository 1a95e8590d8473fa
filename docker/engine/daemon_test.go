package engine_test

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

	"nettoll/docker/dial"
	"nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// daemon is a dockerd of the test's own, which stands for one of the user's. What it
// writes is in memory.
type daemon struct {
	dir  string
	pool string
	cmd  *exec.Cmd
	done chan struct{}
}

// patience bounds every wait; it is no expectation.
const patience = 60 * time.Second

// daemonOptions say how a daemon differs.
type daemonOptions struct {
	size string // of its tmpfs, such as 64m
	pool string // where it takes the addresses of networks from
}

// startDaemon starts dockerd in the lab.
func startDaemon(t *testing.T, o daemonOptions) *daemon {
	t.Helper()
	platformtest.Require(t, "dockerd", engine.Available())
	if !lab.AsRoot() {
		platformtest.Require(t, "dockerd", errors.New("dockerd must be started by root"))
	}
	if err := nl.With("", func(n *nl.NS) error { return n.Up("lo") }); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/run", "engine-")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0711,size="+cmp.Or(o.size, "50%")); err != nil {
		t.Fatal(err)
	}
	hold := engine.HoldCgroup(testGroup) // or nettoll clean would take it
	d := &daemon{dir: dir, pool: cmp.Or(o.pool, "base=198.19.232.0/21,size=24")}
	t.Cleanup(func() {
		d.stop(t)
		if err := errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)); err != nil {
			t.Error(err)
		}
		hold.Close()
		_, _ = engine.SweepCgroups(testGroup)
	})
	d.start(t)
	return d
}

// testGroup stands for the run of engines whose control groups are of tests.
const testGroup = "test"

func (d *daemon) socket() string { return filepath.Join(d.dir, "docker.sock") }

// start starts dockerd, also again after it has ended, and waits for its answer.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.done = make(chan struct{})
	d.cmd = exec.Command("dockerd", "--data-root", d.dir+"/data", "--exec-root", d.dir+"/exec", "--pidfile", d.dir+"/pid",
		"--host", "unix://"+d.socket(), "--storage-driver", "overlay2", "--cgroup-parent", "/nettoll-"+testGroup,
		"--bip", "198.19.240.1/21", "--default-address-pool", d.pool)
	log, err := os.OpenFile(d.dir+"/log", os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600) // no pipe: shims outlive dockerd
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = d.cmd.Wait(); close(d.done) }()
	until(t, "dockerd answers", func() bool {
		c, err := d.connect()
		if err == nil {
			c.Close()
		}
		select {
		case <-d.done:
			said, _ := os.ReadFile(d.dir + "/log")
			t.Fatalf("dockerd has ended: %s", said[max(0, len(said)-500):])
		default:
		}
		return err == nil
	})
}

func (d *daemon) connect() (*client.Client, error) {
	return dial.Connect(context.Background(), dial.Target{Host: "unix://" + d.socket()})
}

func (d *daemon) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		t.Error(err)
	}
	if s == syscall.SIGSTOP { // which threads see one after the other
		until(t, "all threads have stopped", func() bool {
			files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", d.cmd.Process.Pid))
			return err == nil && !slices.ContainsFunc(files, func(file string) bool {
				b, err := os.ReadFile(file)
				return err == nil && !strings.Contains(string(b), ") T ")
			})
		})
	}
}

// kill is kill -9.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(d.dir + "/exec/containerd/containerd.pid")
	if err != nil {
		t.Fatal(err)
	}
	containerd, err := strconv.Atoi(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.done
	// It dies with dockerd, and the lab reaps it.
	for deadline := time.Now().Add(patience); unix.Kill(containerd, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("containerd is still there")
		}
	}
}

// stop removes all containers, so that nothing of theirs outlives the engine.
func (d *daemon) stop(t *testing.T) {
	select {
	case <-d.done:
		d.start(t)
	default:
		_ = d.cmd.Process.Signal(syscall.SIGCONT)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := d.client(t)
	all, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		t.Error(err)
	}
	for _, one := range all.Items {
		_, _ = c.ContainerRemove(ctx, one.ID, client.ContainerRemoveOptions{Force: true}) // it may be going
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.done
}

// client gives a client, until the test's end.
func (d *daemon) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := d.connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// isEmpty wants nothing with the label on the engine but the image, which is removed when
// the engine is left. A container that has been removed is listed for a moment.
func (d *daemon) isEmpty(t *testing.T) {
	t.Helper()
	c, left := d.client(t), []string{"unknown"}
	for deadline := time.Now().Add(patience); len(left) > 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		all, err := engine.Traces(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		left = nil
		for _, trace := range all {
			for _, o := range trace.Objects {
				if o.Kind != "image" {
					left = append(left, o.String())
				}
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// oneLine wants an error to be one clear line with the words.
func oneLine(text string, words ...string) error {
	for _, foreign := range []string{"\n", "goroutine", "panic", "http://", "%2F", "context deadline"} {
		if strings.Contains(text, foreign) {
			return fmt.Errorf("%q has %q in it", text, foreign)
		}
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			return fmt.Errorf("%q does not say %q", text, w)
		}
	}
	return nil
}
