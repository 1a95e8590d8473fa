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
)

// TestControllersAreTakenBack does as container runtimes do: they have the root of the machine's control groups hand down all
// controllers. Those that it did not hand down before are taken back with the last run that was there, but for one by which a
// group of the machine has a limit meanwhile.
func TestControllersAreTakenBack(t *testing.T) {
	if os.Getenv("NETTOLL_TEST_OWN_MACHINE") == "" {
		t.Skip("it changes control groups of the whole machine: .ci/vm has a machine of its own for it")
	}
	root := cgroup.Roots()[0]
	file := filepath.Join(root, "cgroup.subtree_control")
	handed := func() []string {
		b, err := os.ReadFile(file)
		iferr.Fatal(t, err)
		return strings.Fields(string(b))
	}
	iferr.Fatal(t, os.WriteFile(file, []byte("+memory -pids -cpu"), 0))
	unique := rand.Uint32()
	run := func(i int) string { return fmt.Sprintf("%08x%04d", unique, i) }
	_, first := group(t, run(1))
	iferr.Fatal(t, os.WriteFile(file, []byte("+pids +cpu"), 0))
	theirs := filepath.Join(root, "theirs")
	iferr.Fatal(t, os.Mkdir(theirs, 0o755))
	defer os.Remove(theirs)
	iferr.Fatal(t, os.WriteFile(filepath.Join(theirs, "cpu.weight"), []byte("50"), 0))
	_, second := group(t, run(2))
	for i, hold := range []*os.File{first, second} {
		if is := handed(); !slices.Contains(is, "pids") || !slices.Contains(is, "cpu") {
			t.Errorf("run %d is there, and the root hands down %v", i+1, is)
		}
		iferr.Fatal(t, hold.Close())
		if removed, err := cgroup.Sweep(run(i + 1)); err != nil || len(removed) != 1 {
			t.Errorf("removed %v, %v", removed, err)
		}
	}
	if is := handed(); slices.Contains(is, "pids") || !slices.Contains(is, "cpu") || !slices.Contains(is, "memory") {
		t.Errorf("the root hands down %v", is)
	}
}
