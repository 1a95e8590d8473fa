package dockertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// podmanGroup is Podman's control group.
const podmanGroup = "libpod_parent"

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
		iferr.Error(t, errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)))
		for _, root := range cgroup.Roots() { // empty, unless somebody else uses Podman
			iferr.Error(t, removeEmpty(filepath.Join(root, podmanGroup)))
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
	dial := func(ctx context.Context) (*client.Client, bool, error) {
		c, err := client.New(client.WithHost("unix://" + dir + "/podman.sock"))
		if err == nil {
			if _, err = c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
				c.Close()
			}
		}
		return c, true, err
	}
	Until(t, "Podman answers", func() bool {
		c, _, err := dial(t.Context())
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return dial
}

// removeEmpty removes a folder of control groups with those in it, as far as no process is in them.
func removeEmpty(folder string) error {
	var all []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	for _, path := range slices.Backward(all) {
		if err := os.Remove(path); err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("control group: %w", err)
		}
	}
	return err
}
