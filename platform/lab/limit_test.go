package lab

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// TestLimitOfNamespaces reaches a limit that it sets in a user namespace of its own. The kernel reports that like a full disk.
func TestLimitOfNamespaces(t *testing.T) {
	const mark = "NETTOLL_TEST_LIMIT"
	if os.Getenv(mark) == "" {
		again := exec.Command("/proc/self/exe", "-test.run=^TestLimitOfNamespaces$")
		again.Env = append(environ(), mark+"=1")
		again.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	iferr.Fatal(t, os.WriteFile("/proc/sys/user/max_net_namespaces", []byte("4"), 0)) // one is the lab's
	hosts, err := New().Hosts(t.Context(), platform.HostRequest{Count: 4})
	if err == nil {
		hosts.Close(context.Background())
	}
	if err == nil || !strings.Contains(err.Error(), "the limit on namespaces is reached; to see the limits: sysctl user") {
		t.Errorf("error %v", err)
	}
}
