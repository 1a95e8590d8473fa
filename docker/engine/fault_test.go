package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/internal/bootstrap"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// TestFaultsInTrials checks that a fault of the engine, or of objects on it, fails exactly one trial, with the
// reason.
func TestFaultsInTrials(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	c := d.Client(t)
	for _, victim := range []string{"h1c1", "h1c2"} { // server, client
		t.Run("container killed: "+victim, func(t *testing.T) {
			rounds(t, d, "bridge", func() {
				if _, err := c.ContainerKill(t.Context(), named(victim), client.ContainerKillOptions{Signal: "KILL"}); err != nil {
					t.Error(err)
				}
			}, "container "+victim+" was killed from outside")
		})
	}
	t.Run("container killed with its devices", func(t *testing.T) { // which nettoll has made, and would remove
		rounds(t, d, "veth", func() {
			if _, err := c.ContainerKill(t.Context(), named("h1c2"), client.ContainerKillOptions{Signal: "KILL"}); err != nil {
				t.Error(err)
			}
		}, "container h1c2 was killed from outside")
	})
	t.Run("out of memory", func(t *testing.T) {
		rounds(t, d, "bridge", func() { starve(t, c, named("h1c2")) }, "container h1c2 ran out of memory (OOM)")
	})
	t.Run("engine killed and started again", func(t *testing.T) {
		rounds(t, d, "user-bridge", func() {
			d.Kill(t)
			d.Start(t) // which may take longer than the removal of objects waits for
		}, "was lost: its Docker engine, or the connection to it, ended")
	})
	t.Run("engine hangs", func(t *testing.T) {
		rounds(t, d, "user-bridge", func() {
			d.Signal(t, syscall.SIGSTOP)
			time.AfterFunc(25*time.Second, func() { d.Signal(t, syscall.SIGCONT) }) // longer than agents may take to answer
		}, "no answer within")
	})
	t.Run("network removed", func(t *testing.T) {
		rounds(t, d, "user-bridge", func() { d.takeNetwork(t, named("bridge"), named("h1c1"), named("h1c2")) }, "is no longer on network")
	})
	d.isEmpty(t)
}

// starve limits a container's memory to its present use, by its control group, and starts another
// process in it. The container's first process is made the one that the kernel kills.
func starve(t *testing.T, c *client.Client, name string) {
	t.Helper()
	is, err := c.ContainerInspect(t.Context(), name, client.ContainerInspectOptions{})
	iferr.Fatal(t, err)
	iferr.Fatal(t, os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", is.Container.State.Pid), []byte("1000"), 0))
	file := func(names ...string) string {
		for _, name := range names {
			if found, err := filepath.Glob("/sys/fs/cgroup/" + strings.ReplaceAll(name, "ID", is.Container.ID)); err == nil && len(found) == 1 {
				return found[0]
			}
		}
		t.Fatalf("the container has none of the files %v", names)
		return ""
	}
	limit := file("memory/*/ID/memory.limit_in_bytes", "*/ID/memory.max")
	b, err := os.ReadFile(file("memory/*/ID/memory.usage_in_bytes", "*/ID/memory.current"))
	iferr.Fatal(t, err)
	used, err := strconv.Atoi(strings.TrimSpace(string(b)))
	iferr.Fatal(t, err)
	const step = 64 << 10 // it may have been given more memory meanwhile
	for err = syscall.EBUSY; err != nil; used += step {
		if err = os.WriteFile(limit, []byte(strconv.Itoa(used)), 0); err != nil && !errors.Is(err, syscall.EBUSY) {
			t.Fatal(err)
		}
	}
	made, err := c.ExecCreate(t.Context(), name, client.ExecCreateOptions{Cmd: []string{"/nettoll", "agent"}, AttachStdin: true})
	if err == nil {
		_, err = c.ExecStart(t.Context(), made.ID, client.ExecStartOptions{Detach: true})
	}
	if err != nil {
		t.Log(err) // the container may be gone
	}
}

// takeNetwork removes a network that is in use by containers.
func (d *daemon) takeNetwork(t *testing.T, network string, from ...string) {
	t.Helper()
	c := d.Client(t)
	for _, name := range from {
		if _, err := c.NetworkDisconnect(t.Context(), network, client.NetworkDisconnectOptions{Container: name, Force: true}); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.NetworkRemove(t.Context(), network, client.NetworkRemoveOptions{}); err != nil {
		t.Error(err)
	}
}

// TestFaultsAreFound checks that a reason is found for faults that a trial only notices as silence.
func TestFaultsAreFound(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	for _, f := range []struct {
		name string
		do   func(t *testing.T)
		undo func(t *testing.T)
		says string
	}{
		{"nothing", func(*testing.T) {}, nil, ""},
		{"network removed", func(t *testing.T) { d.takeNetwork(t, named("bridge"), named("h1c1")) }, nil,
			"docker: container h1c1 is no longer on network " + named("bridge") + ": somebody disconnected it"},
		{"container removed", func(t *testing.T) {
			if _, err := d.Client(t).ContainerRemove(t.Context(), named("h1c1"), client.ContainerRemoveOptions{Force: true}); err != nil {
				t.Error(err)
			}
		}, nil, "docker: container h1c1 was killed from outside (exit status 137)"},
		{"engine stopped", func(t *testing.T) { d.Signal(t, syscall.SIGSTOP) }, func(t *testing.T) { d.Signal(t, syscall.SIGCONT) },
			"docker: the engine of h1: the engine did not answer in time"},
		{"engine killed", d.Kill, d.Start, "docker: the engine of h1: Cannot connect to the Docker daemon at unix://" + d.Socket() + ". Is the docker daemon running?"},
	} {
		t.Run(f.name, func(t *testing.T) {
			h := d.host(t)
			network, err := h.Network(t.Context(), engine.NetworkSpec{Name: "bridge", Driver: "bridge"})
			iferr.Fatal(t, err)
			if _, err := h.Run(t.Context(), engine.Spec{Mode: network}); err != nil {
				t.Fatal(err)
			}
			f.do(t)
			err = h.Fault(t.Context())
			if f.undo != nil {
				f.undo(t)
			}
			if got := fmt.Sprint(err); got != f.says && (err != nil || f.says != "") {
				t.Errorf("got %q, want %q", got, f.says)
			}
		})
	}
	d.isEmpty(t)
}

// TestContainersOfALostConnection has an engine that is reached over a network: containers live as long as nettoll is heard there, and
// end by themselves when nothing comes any more. The engine is stopped, since it passes on what nettoll says.
func TestContainersOfALostConnection(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	h := d.host(t)
	const silence = 5 * time.Second
	h.Engine.Silence, h.Engine.Pulse = silence, new(bootstrap.Pulse)
	made, err := h.Run(t.Context(), engine.Spec{Mode: "bridge"})
	iferr.Fatal(t, err)
	state, err := d.Client(t).ContainerInspect(t.Context(), made[0].ID(), client.ContainerInspectOptions{})
	iferr.Fatal(t, err)
	runs := func() bool { return syscall.Kill(state.Container.State.Pid, 0) == nil }
	time.Sleep(2 * silence)
	if !runs() {
		t.Error("it ended although nettoll was heard")
	}
	d.Signal(t, syscall.SIGSTOP)
	for range 600 {
		if !runs() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if runs() {
		t.Error("it runs, and nettoll is not heard")
	}
	d.Signal(t, syscall.SIGCONT)
	iferr.Error(t, h.Empty(t.Context()))
	d.isEmpty(t)
}

// TestHangIsBounded checks that nothing waits for an engine for ever, not even the removal of its objects,
// and that objects that could not be removed are removed when the engine is back.
func TestHangIsBounded(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	h := d.host(t)
	made, err := h.Run(t.Context(), engine.Spec{Mode: "bridge"}, engine.Spec{Mode: "bridge"})
	iferr.Fatal(t, err)
	p, err := made[0].Start(t.Context(), platform.Command{Path: platform.Self, Args: []string{"agent"}})
	iferr.Fatal(t, err)
	d.Signal(t, syscall.SIGSTOP)
	if err := p.Kill(); err == nil {
		t.Error("a process is killed by an engine that hangs")
	} else if err := oneLine(err.Error(), "docker: kill a process: the engine did not answer in time"); err != nil {
		t.Error(err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := made[1].Start(short, platform.Command{Path: platform.Self}); err == nil {
		t.Error("a process is started by an engine that hangs")
	} else if err := oneLine(err.Error(), "h1c2: start nettoll:self: the engine did not answer in time"); err != nil {
		t.Error(err)
	}
	short, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := h.Run(short, engine.Spec{Mode: "bridge"}); err == nil {
		t.Error("a container is started by an engine that hangs")
	} else if err := oneLine(err.Error(), "the engine did not answer in time"); err != nil {
		t.Error(err)
	}
	short, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := h.Empty(short); err == nil {
		t.Error("an engine that hangs is emptied")
	} else if err := oneLine(err.Error(), "docker: remove container h1c", ": the engine did not answer in time (and 1 more)"); err != nil {
		t.Error(err)
	}
	d.Signal(t, syscall.SIGCONT)
	iferr.Error(t, h.Empty(t.Context()))
	d.isEmpty(t)
}
