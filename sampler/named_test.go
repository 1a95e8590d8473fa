package sampler_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/sampler"
)

func TestFindNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proc := t.TempDir()
		write := func(pid, name string) {
			iferr.Fatal(t, errors.Join(os.MkdirAll(filepath.Join(proc, pid), 0o755), os.WriteFile(filepath.Join(proc, pid, "comm"), []byte(name), 0o644)))
		}
		for pid, name := range map[string]string{"20": "kubelet\n", "3": "kube-proxy\n", "100": "kubelet\n", "7": "kubelet-not\n", "self": "kubelet\n"} {
			write(pid, name)
		}
		if err := os.Mkdir(filepath.Join(proc, "8"), 0o755); err != nil { // it has just ended
			t.Fatal(err)
		}
		// Two children of a daemon have not yet run programs of their own.
		write("21", "kubelet\n")
		write("22", "kubelet\n")
		time.AfterFunc(10*time.Millisecond, func() {
			write("21", "iptables\n")
			os.RemoveAll(filepath.Join(proc, "22"))
		})
		got, err := sampler.FindNamed(t.Context(), proc, []string{"kubelet", "kube-proxy"})
		if want := []sampler.Named{{PID: 3, Name: "kube-proxy"}, {PID: 20, Name: "kubelet"}, {PID: 100, Name: "kubelet"}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		if _, err := sampler.FindNamed(t.Context(), filepath.Join(proc, "none"), nil); err == nil {
			t.Error("there is nothing to look through, and no error")
		}
	})
}

func TestCPUTimes(t *testing.T) {
	child, own := burner(t), os.Getpid()
	all, err := sampler.CPUTimes([]int{own, child.Pid})
	if err != nil || len(all) != 2 || all[0] <= 0 || all[1] < 0 {
		t.Errorf("%v, %v", all, err)
	}
	const none = 1 << 22 // no PID is that large
	if all, err := sampler.CPUTimes([]int{own, none}); err == nil {
		t.Errorf("a process that does not exist has used %v", all)
	}
}

// TestOriginTellsProcessesApart checks that agents on one machine that see different processes say so.
func TestOriginTellsProcessesApart(t *testing.T) {
	o, err := sampler.FindOrigin("/proc", "/sys")
	if err != nil || !strings.HasPrefix(o.Processes, "pid:[") {
		t.Errorf("%q, %v", o.Processes, err)
	}
}
