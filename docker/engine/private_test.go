package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/docker/dockertest"
	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// TestPrivateEngineKilled checks that a private engine that has been killed is stopped like any other, and
// leaves nothing. The shim of a container, which may be killed while it has temporary files, must have them in the lab's memory.
func TestPrivateEngineKilled(t *testing.T) {
	platformtest.Require(t, "dockerd", engine.Available())
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 1})
	iferr.Fatal(t, err)
	defer func() { iferr.Error(t, hosts.Close(context.Background())) }()
	p, err := engine.StartPrivate(t.Context(), hosts.All()[0], 0, run, image(t), engine.Settings{})
	iferr.Fatal(t, err)
	made, err := p.Run(t.Context(), engine.Spec{Mode: "bridge"})
	iferr.Fatal(t, err)
	seen, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", p.PID()))
	iferr.Fatal(t, err)
	for _, at := range []string{"/etc/docker", "/var/lib/docker", "/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes"} {
		if !strings.Contains(string(seen), " "+at+" tmpfs ") {
			t.Errorf("the engine has the machine's %s", at)
		}
	}
	all, err := procfs.AllProcs()
	iferr.Fatal(t, err)
	shims := 0
	for _, one := range all {
		if name, _ := one.Comm(); name != "containerd-shim" {
			continue
		}
		shims++
		env, err := one.Environ()
		iferr.Fatal(t, err)
		for _, name := range []string{"TMPDIR", "XDG_RUNTIME_DIR"} {
			if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=/run/nettoll-") }) {
				t.Errorf("a shim has %s elsewhere: %q", name, env)
			}
		}
	}
	if shims == 0 {
		t.Error("no shim is found")
	}
	iferr.Fatal(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	dockertest.Until(t, "the container's agent is known to be out of reach", func() bool {
		_, err = made[0].Interfaces(t.Context())
		return err != nil
	})
	refused(t, err, "container h1c1 was lost: its Docker engine, or the connection to it, ended")
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop() }()
	select {
	case err := <-stopped:
		refused(t, err, "docker: remove container h1c1: Cannot connect to the Docker daemon")
	case <-time.After(dockertest.Patience):
		t.Fatal("Stop does not come back")
	}
	dockertest.Until(t, "the container has ended with its engine", func() bool {
		names, err := filepath.Glob("/proc/[0-9]*/cgroup")
		iferr.Fatal(t, err)
		return !slices.ContainsFunc(names, func(name string) bool {
			groups, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(groups), made[0].ID())
		})
	})
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), "/run/nettoll-") {
		t.Errorf("mounts are left: %s, %v", mounts, err)
	}
}
