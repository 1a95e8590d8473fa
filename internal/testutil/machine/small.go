package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

// smallEnv marks a test that runs in a small control group.
const smallEnv = "NETTOLL_TEST_SMALL"

// Small runs the calling test once more, by itself, in a control group with 128 MiB of memory, and reports whether this is
// that run. It skips the test where there can be no such group.
func Small(t *testing.T) bool {
	t.Helper()
	if os.Getenv(smallEnv) != "" {
		return true
	}
	self, err := os.Executable()
	iferr.Fatal(t, err)
	again := exec.CommandContext(t.Context(), "sh", "-ec", `echo $$ >"$0/cgroup.procs"; exec "$@"`, small(t), self, "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), smallEnv+"=1")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}

// small makes the control group.
func small(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("nettoll-test-%d", os.Getpid())
	for _, try := range []struct{ hierarchy, limit, swap, most string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "128M"}, // version 1, where swap includes memory
		{"/sys/fs/cgroup", "memory.max", "memory.swap.max", "0"},
	} {
		group := filepath.Join(try.hierarchy, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() {
			for end := time.Now().Add(20 * time.Second); errors.Is(os.Remove(group), unix.EBUSY) && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond) // the kernel releases what has ended there
			}
		})
		if os.WriteFile(filepath.Join(group, try.limit), []byte("128M"), 0) != nil {
			continue
		}
		_ = os.WriteFile(filepath.Join(group, try.swap), []byte(try.most), 0) // there is none where swap is not counted
		return group
	}
	t.Skip("no control group with a limit of memory can be made here")
	return ""
}
