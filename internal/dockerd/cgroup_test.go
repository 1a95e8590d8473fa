package dockerd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"nettoll/internal/dockerd"
	"nettoll/platform/lab"
)

// group makes a control group as dockerd makes them, with one for a container.
func group(t *testing.T, name string) (path string) {
	t.Helper()
	root := "/sys/fs/cgroup"
	if _, err := os.Stat(root + "/cgroup.procs"); err != nil {
		root += "/pids"
	}
	path = filepath.Join(root, name)
	if err := os.MkdirAll(path+"/container", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Remove(path + "/container")
		_ = os.Remove(path)
	})
	return path
}

func TestSweepCgroups(t *testing.T) {
	if !lab.AsRoot() {
		t.Skip("control groups are root's")
	}
	unique := rand.Uint32()
	name := func(i int) string { return fmt.Sprintf("nettoll-%08x%04d", unique, i) }
	empty, held, used, foreign := group(t, name(1)), group(t, name(2)), group(t, name(3)), group(t, "nottoll-"+name(4))
	hold := dockerd.HoldCgroup(filepath.Base(held)[len("nettoll-"):])
	if hold == nil {
		t.Fatal("a control group cannot be held")
	}
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}
	defer end()
	if err := os.WriteFile(used+"/container/cgroup.procs", []byte(strconv.Itoa(sleep.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	listed := dockerd.LeftCgroups()
	removed, err := dockerd.SweepCgroups()
	if err != nil {
		t.Error(err)
	}
	for path, goes := range map[string]bool{empty: true, held: false, used: false, foreign: false} {
		_, err := os.Stat(path + "/container")
		if gone := err != nil; gone != goes || slices.Contains(listed, filepath.Base(path)) != goes || slices.Contains(removed, filepath.Base(path)) != goes {
			t.Errorf("%s: listed in %v, removed in %v, is there: %v; it should go: %v", path, listed, removed, !gone, goes)
		}
	}
	hold.Close()
	end()
	removed, err = dockerd.SweepCgroups()
	if err != nil || !slices.Contains(removed, filepath.Base(held)) || !slices.Contains(removed, filepath.Base(used)) {
		t.Errorf("what is not in use any more: removed %v, %v", removed, err)
	}
}
