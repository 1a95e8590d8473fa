package cgroup_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/cgroup"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform/lab"
)

// TestControllersAreTakenBack does as container runtimes do: they have the root of the machine's control groups hand down all
// controllers. Those that it did not hand down before are taken back with the last run that was there.
func TestControllersAreTakenBack(t *testing.T) {
	root := cgroup.Roots()[0]
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil || !lab.AsRoot() {
		t.Skip("it needs root, and control groups of version 2, which .ci/test-vm has")
	}
	file := filepath.Join(root, "cgroup.subtree_control")
	handed := func(controller string) bool {
		b, err := os.ReadFile(file)
		iferr.Fatal(t, err)
		return slices.Contains(strings.Fields(string(b)), controller)
	}
	if handed("pids") || !handed("memory") {
		iferr.Fatal(t, os.WriteFile(file, []byte("-pids +memory"), 0))
	}
	unique := rand.Uint32()
	run := func(i int) string { return fmt.Sprintf("%08x%04d", unique, i) }
	_, first := group(t, run(1))
	iferr.Fatal(t, os.WriteFile(file, []byte("+pids"), 0))
	_, second := group(t, run(2))
	for i, hold := range []*os.File{first, second} {
		if !handed("pids") {
			t.Errorf("run %d is there, and has no controller any more", i+1)
		}
		iferr.Fatal(t, hold.Close())
		if removed, err := cgroup.Sweep(run(i + 1)); err != nil || len(removed) != 1 {
			t.Errorf("removed %v, %v", removed, err)
		}
	}
	if handed("pids") || !handed("memory") {
		t.Errorf("the root hands down pids: %v, memory: %v", handed("pids"), handed("memory"))
	}
}
