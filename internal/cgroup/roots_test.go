package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// TestRoots has the folders of version 1 as systemd makes them: a hierarchy has links with the names of its controllers. If
// each were taken for a hierarchy, a group would be locked twice, and the second lock would be refused.
func TestRoots(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"cpu,cpuacct", "memory"} {
		iferr.Fatal(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		iferr.Fatal(t, os.WriteFile(filepath.Join(dir, name, "cgroup.procs"), nil, 0o644))
	}
	iferr.Fatal(t, errors.Join(
		os.Symlink("cpu,cpuacct", filepath.Join(dir, "cpu")), os.Symlink("cpu,cpuacct", filepath.Join(dir, "cpuacct"))))
	want := []string{filepath.Join(dir, "cpu,cpuacct"), filepath.Join(dir, "memory")}
	if got := rootsIn(dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	iferr.Fatal(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o644))
	if got := rootsIn(dir); !slices.Equal(got, []string{dir}) {
		t.Errorf("version 2: %q", got)
	}
}
