package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nettoll/kube"
	"nettoll/platform"
	"nettoll/platform/platformtest"
)

// requireCluster skips a test where programs of a cluster are missing. Whether this process is in a lab does not
// matter: nettoll will be.
func requireCluster(t *testing.T) {
	t.Helper()
	err := kube.Available(nil)
	var missing *platform.Unsupported
	if errors.As(err, &missing) && strings.HasPrefix(missing.Option, "a lab") {
		err = nil
	}
	platformtest.Require(t, "kubelet", err)
}

func TestLabKubernetes(t *testing.T) {
	requireCluster(t)
	const script = `readlink /proc/[0-9]*/fd/* | grep ^/sys/fs/cgroup/
		test -r "$KUBECONFIG" && echo image $NETTOLL_IMAGE
		test "${KUBECACHEDIR%/*}" = "${KUBECONFIG%/*}" && echo cache is beside it
		ip -o link show type vxlan
		ip -4 -o addr show dev eth0
		ip netns exec h2 ip -4 -o addr show dev eth0
		exit 7`
	out, err := exec.Command("nettoll", "lab", "kubernetes", "--cni", "flannel", "--", "sh", "-c", script).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("%v, want the command's exit status 7:\n%s", err, out)
	}
	for _, want := range []string{"image " + kube.AgentImage, "cache is beside it", "flannel.1", "198.18.0.1/16", "198.18.0.2/16"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	held := regexp.MustCompile(`(?m)^/sys/fs/cgroup/.*nettoll-\w+$`).FindAllString(string(out), -1)
	if held == nil {
		t.Errorf("nobody holds the control group of the cluster:\n%s", out)
	}
	groupsGone(t, held)
}

// TestLabKubernetesCrash kills nettoll while a cluster starts, once it is up, and while it ends: nothing is left.
func TestLabKubernetesCrash(t *testing.T) {
	requireCluster(t)
	n, r := crashes(t, 4, 1)
	for i := range n {
		after := time.Duration(r.Int64N(int64(12 * time.Second)))
		t.Run(fmt.Sprintf("%d after %s", i, after.Round(time.Millisecond)), func(t *testing.T) {
			was := before(t)
			p := start(t, t.TempDir(), "lab", "kubernetes", "--nodes", "2", "--", "sleep", "1")
			time.Sleep(after)
			made := namespacesOf(t)
			held, pid := heldGroups(t), p.Process.Pid
			if first := inside(t, p); i%2 == 1 && first != 0 {
				pid = first
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
			p.status(t)
			groupsGone(t, held)
			was.check(t, made)
		})
	}
}

// heldGroups returns the control groups of clusters that processes of nettoll hold.
func heldGroups(t *testing.T) (paths []string) {
	t.Helper()
	for pid := range ours(t) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			if path, _ := os.Readlink(link); strings.HasPrefix(path, "/sys/fs/cgroup/") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// groupsGone waits until control groups are gone, in all hierarchies.
func groupsGone(t *testing.T, held []string) {
	t.Helper()
	until(t, "its control groups are gone", func() bool {
		return !slices.ContainsFunc(engineGroups(t), func(name string) bool {
			return slices.ContainsFunc(held, func(path string) bool { return filepath.Base(path) == name })
		})
	})
}
