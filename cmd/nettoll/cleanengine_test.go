package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform/platformtest"
)

// theirEngine is a dockerd in place of the user's own, in namespaces that the test has made for it: nettoll runs in
// the same namespaces. It holds objects that do not belong to nettoll.
type theirEngine struct {
	init   int    // PID of the first process of the namespaces
	group  string // control group of its containers, not one of nettoll's
	daemon *started
}

// Paths of the engine inside its namespaces.
const (
	engineDir    = "/run/engine"
	engineSocket = "unix://" + engineDir + "/s"
)

// initScript is the first process: it makes what an engine needs, and reaps orphans.
const initScript = `mount -t tmpfs -o mode=0755 tmpfs /run && mkdir ` + engineDir + ` && ip link set lo up && echo ready && while :; do sleep 1000 & wait $!; done`

func startTheirs(t *testing.T) *theirEngine {
	t.Helper()
	for _, program := range []string{"dockerd", "containerd", "runc", "unshare", "nsenter", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil {
			platformtest.Require(t, "dockerd", err)
		}
	}
	if os.Geteuid() != 0 {
		platformtest.Require(t, "dockerd", errors.New("dockerd must be started by root"))
	}
	e := &theirEngine{}
	t.Cleanup(func() { e.removeGroups(t) }) // after all processes have ended
	holder := startProgram(t, t.TempDir(), "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", initScript)
	until(t, "the namespaces are there", func() bool {
		if holder.ended() {
			t.Fatal(holder.said())
		}
		if children := childrenOf(holder.Process.Pid); len(children) == 1 {
			e.init = children[0]
		}
		_, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", e.init, engineDir))
		return e.init != 0 && err == nil
	})
	e.group = fmt.Sprintf("theirs-nettoll-%d", e.init)
	e.start(t)
	t.Cleanup(func() { e.stop(t) })
	return e
}

// enter returns the arguments with which nsenter runs a program in the engine's namespaces.
func (e *theirEngine) enter(dir string, args ...string) []string {
	enter := []string{"-t", strconv.Itoa(e.init), "-m", "-n", "-p", "--", "env", "-C", dir, "DOCKER_HOST=" + engineSocket}
	return append(enter, args...)
}

// inside starts a program in the engine's namespaces.
func (e *theirEngine) inside(t *testing.T, dir string, args ...string) *started {
	t.Helper()
	return startProgram(t, dir, "nsenter", e.enter(dir, args...)...)
}

// start starts dockerd, and waits for its answer.
func (e *theirEngine) start(t *testing.T) {
	t.Helper()
	iferr.Fatal(t, e.launch(t))
}

// launch starts dockerd, for the first time or again. The error says that it has ended, with its output.
func (e *theirEngine) launch(t *testing.T) error {
	t.Helper()
	e.daemon = &started{Cmd: exec.Command("nsenter", e.enter("/", "sh", "-c", `exec dockerd --data-root `+engineDir+`/data --exec-root `+engineDir+`/exec --pidfile `+engineDir+`/pid `+
		`--host `+engineSocket+` --storage-driver overlay2 --cgroup-parent /`+e.group+` --log-level warn `+
		`--bip 198.19.240.1/21 --default-address-pool base=198.19.232.0/21,size=24 >`+engineDir+`/log 2>&1`)...)}
	e.daemon.begin(t)
	c := e.client(t)
	until(t, "dockerd answers", func() bool {
		_, err := c.Ping(t.Context(), client.PingOptions{})
		return err == nil || e.daemon.ended()
	})
	if e.daemon.ended() {
		said, _ := os.ReadFile(e.path("log"))
		return fmt.Errorf("dockerd has ended: %s", said)
	}
	return nil
}

// path returns the path of a file of the engine, as seen from the test.
func (e *theirEngine) path(name string) string {
	return fmt.Sprintf("/proc/%d/root%s/%s", e.init, engineDir, name)
}

// kill kills dockerd with SIGKILL. Its containerd dies with it; until that is gone, another dockerd would not start
// its own.
func (e *theirEngine) kill(t *testing.T) {
	t.Helper()
	containerd := content(t, e.path("exec/containerd/containerd.pid"))
	iferr.Fatal(t, syscall.Kill(e.pid(t), syscall.SIGKILL))
	<-e.daemon.done
	until(t, "containerd has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d/root/proc/%s", e.init, containerd))
		return err != nil
	})
}

// pid returns the PID of dockerd, as seen from the test: the only child of the nsenter that started it.
func (e *theirEngine) pid(t *testing.T) int {
	t.Helper()
	children := childrenOf(e.daemon.Process.Pid)
	if len(children) != 1 {
		t.Fatalf("dockerd is one of %v", children)
	}
	return children[0]
}

// stop removes all containers and ends dockerd.
func (e *theirEngine) stop(t *testing.T) {
	if e.daemon.ended() {
		return // it cannot be restarted; its containers end with its namespaces
	}
	c, ctx := e.client(t), context.Background()
	all, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
	iferr.Error(t, err)
	for _, one := range all.Items {
		// A container whose agent has just ended is being removed.
		_, err := c.ContainerRemove(ctx, one.ID, client.ContainerRemoveOptions{Force: true})
		if err != nil && !cerrdefs.IsConflict(err) && !cerrdefs.IsNotFound(err) {
			t.Error(err)
		}
	}
	_ = syscall.Kill(e.pid(t), syscall.SIGTERM)
	<-e.daemon.done
}

// removeGroups removes the engine's control groups.
func (e *theirEngine) removeGroups(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		pattern += cmp.Or(e.group, "none")
		groups, err := filepath.Glob(pattern)
		iferr.Fatal(t, err)
		for _, g := range groups {
			within, err := os.ReadDir(g)
			iferr.Fatal(t, err)
			for _, sub := range within {
				until(t, sub.Name()+" can be removed", func() bool {
					return !sub.IsDir() || syscall.Rmdir(filepath.Join(g, sub.Name())) == nil
				})
			}
			until(t, g+" can be removed", func() bool { return syscall.Rmdir(g) == nil })
		}
	}
}

func (e *theirEngine) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.WithHost("unix://" + e.path("s")))
	iferr.Fatal(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// furnish makes a running container, a network, an image and a volume that do not belong to nettoll.
func (e *theirEngine) furnish(t *testing.T) {
	t.Helper()
	c, ctx := e.client(t), t.Context()
	root, err := rootfs.New(rootfs.Program{File: "/bin/sleep", Path: "/usr/bin/sleep"})
	iferr.Fatal(t, err)
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(root.Stream(w))
	}()
	res, err := c.ImageImport(ctx, client.ImageImportSource{Source: r, SourceName: "-"}, "theirs", client.ImageImportOptions{Tag: "1"})
	iferr.Fatal(t, err)
	_, _ = io.Copy(io.Discard, res)
	res.Close()
	if _, err := c.VolumeCreate(ctx, client.VolumeCreateOptions{Name: "theirs"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NetworkCreate(ctx, "theirs", client.NetworkCreateOptions{Driver: "bridge"}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: "theirs", Config: &container.Config{Image: "theirs:1", Cmd: []string{"/usr/bin/sleep", "100000"}, StopSignal: "SIGKILL"},
		HostConfig: &container.HostConfig{
			NetworkMode: "theirs", Binds: []string{"theirs:/v"}, RestartPolicy: container.RestartPolicy{Name: "always"},
		},
	})
	if err == nil {
		_, err = c.ContainerStart(ctx, "theirs", client.ContainerStartOptions{})
	}
	iferr.Fatal(t, err)
}

// untouched checks that the objects of furnish still exist, and that the container runs.
func (e *theirEngine) untouched(t *testing.T) {
	t.Helper()
	c, ctx := e.client(t), t.Context()
	is, err := c.ContainerInspect(ctx, "theirs", client.ContainerInspectOptions{})
	if err != nil || !is.Container.State.Running || is.Container.NetworkSettings.Networks["theirs"] == nil {
		t.Errorf("their container: %+v, %v", is.Container.State, err)
	}
	if _, err := c.NetworkInspect(ctx, "theirs", client.NetworkInspectOptions{}); err != nil {
		t.Errorf("their network: %v", err)
	}
	if _, err := c.ImageInspect(ctx, "theirs:1"); err != nil {
		t.Errorf("their image: %v", err)
	}
	if _, err := c.VolumeInspect(ctx, "theirs", client.VolumeInspectOptions{}); err != nil {
		t.Errorf("their volume: %v", err)
	}
}

// labelled lists the objects on the engine with nettoll's label.
func (e *theirEngine) labelled(t *testing.T) (names []string) {
	t.Helper()
	all, err := engine.Clean(t.Context(), e.client(t), true, func(engine.Trace) bool { return false })
	iferr.Fatal(t, err)
	for _, o := range all.Removed {
		names = append(names, o.String())
	}
	return names
}

// clean checks that no object on the engine has nettoll's label. A container that has been removed is still listed
// for a moment.
func (e *theirEngine) clean(t *testing.T) {
	t.Helper()
	left := e.labelled(t)
	for deadline := time.Now().Add(time.Minute); len(left) > 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		left = e.labelled(t)
	}
	if len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// nettoll runs nettoll until it ends, with success.
func (e *theirEngine) nettoll(t *testing.T, args ...string) (out, err string) {
	t.Helper()
	p := e.inside(t, t.TempDir(), append([]string{"nettoll"}, args...)...)
	p.ends(t, exitOK)
	return engineLines(p.out.String()), p.err.String()
}

// engineLines returns the lines that are not about control groups: other tests leave some, and reuse them.
func engineLines(out string) string {
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(out, "\n"), func(line string) bool {
		return strings.Contains(line, " control group ")
	}), "")
}
