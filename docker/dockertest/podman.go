package dockertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"nettoll/internal/cgroup"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// podmanConfig is Podman's configuration (containers.conf(5)). Without it Podman asks for more open files than every root may have,
// waits for five minutes before it removes what it remembers of a process that has ended, and has locks in shared memory, which it
// does not remove. crun, its usual runtime, refuses machines that have control groups of both versions.
const podmanConfig = `
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
exit_command_delay = 0
lock_type = "file"
cgroup_manager = "cgroupfs"
runtime = "runc"
`

// podmanGroup is Podman's control group, which it leaves behind, and groupsTime how long the processes may take to end that clean up
// after containers there.
const (
	podmanGroup = "libpod_parent"
	groupsTime  = 10 * time.Second
)

// ungrouped removes Podman's control groups, and reports whether none is left. The kernel refuses to remove those in use, by
// whomever.
func ungrouped() bool {
	gone := true
	for _, root := range cgroup.Roots() {
		own := filepath.Join(root, podmanGroup)
		below, _ := filepath.Glob(own + "/*") // fails only for other patterns
		for _, path := range append(below, own) {
			_ = os.Remove(path)
		}
		_, err := os.Stat(own)
		gone = gone && err != nil
	}
	return gone
}

// Podman starts Podman's service with files in memory, and ends it with the test. It returns what connects to it.
func Podman(t *testing.T) func(context.Context) (c *client.Client, here bool, err error) {
	t.Helper()
	path, err := exec.LookPath("podman")
	platformtest.Require(t, "podman", err)
	if !lab.AsRoot() {
		platformtest.Require(t, "podman", errors.New("Podman must be started by root"))
	}
	machine.Loopback(t)
	dir, err := os.MkdirTemp("/run", "podman-")
	iferr.Fatal(t, err)
	iferr.Fatal(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0711,size=50%"))
	t.Cleanup(func() {
		for deadline := time.Now().Add(groupsTime); !ungrouped() && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		iferr.Error(t, errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)))
	})
	t.Cleanup(func() {
		if left, err := filepath.Glob(dir + "/*.tar*"); err != nil || len(left) > 0 {
			t.Errorf("left in Podman's folder for temporary files: %v, %v", left, err)
		}
	})
	iferr.Fatal(t, os.WriteFile(dir+"/containers.conf", []byte(podmanConfig), 0o600))
	log, err := os.Create(dir + "/log")
	iferr.Fatal(t, err)
	defer log.Close()
	service := exec.Command(path, "--root", dir+"/root", "--runroot", dir+"/runroot", "--tmpdir", dir+"/tmp", "--network-config-dir", dir+"/networks",
		"system", "service", "--time=0", "unix://"+dir+"/podman.sock")
	service.Env = append(os.Environ(), "CONTAINERS_CONF="+dir+"/containers.conf", "TMPDIR="+dir)
	service.Stdout, service.Stderr = log, log
	iferr.Fatal(t, service.Start())
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := os.ReadFile(dir + "/log")
			t.Logf("Podman: %s", said[max(0, len(said)-3000):])
		}
		ending := time.AfterFunc(stopTime, func() { _ = service.Process.Kill() })
		defer ending.Stop()
		_ = service.Process.Signal(syscall.SIGTERM)
		_ = service.Wait() // it ends by the signal
	})
	connect := func(ctx context.Context) (*client.Client, bool, error) {
		c, err := dial(ctx, dir+"/podman.sock")
		return c, true, err
	}
	Until(t, "Podman answers", func() bool {
		c, _, err := connect(t.Context())
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return connect
}
