package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// TestMostTasks has groups of both versions, of which the inner one, an outer one, or none is limited.
func TestMostTasks(t *testing.T) {
	for _, c := range []struct {
		name, line, mount string            // of the process
		limits            map[string]string // by the folder below the mount
		want              int
	}{
		{"version 2", "0::/a/b", "", map[string]string{"a": "max", "a/b": "100"}, 100},
		{"version 2, by an outer group", "0::/a/b", "", map[string]string{"a": "64", "a/b": "100"}, 64},
		{"version 2, without limits", "0::/a/b", "", map[string]string{"a": "max", "a/b": "max"}, 0},
		{"version 1", "8:pids:/a\n0::/", "pids", map[string]string{"a": "256"}, 256},
		{"nothing", "0::/a", "", nil, 0},
	} {
		root := t.TempDir()
		mounted, proc := filepath.Join(root, "cgroup"), filepath.Join(root, "proc")
		at := filepath.Join(mounted, c.mount)
		iferr.Fatal(t, errors.Join(os.MkdirAll(at, 0o755), os.MkdirAll(filepath.Join(proc, "self"), 0o755)))
		iferr.Fatal(t, os.WriteFile(filepath.Join(proc, "self/cgroup"), []byte(c.line+"\n"), 0o644))
		iferr.Fatal(t, os.WriteFile(filepath.Join(proc, "self/mountinfo"), []byte("31 23 0:28 / "+at+" rw - cgroup cgroup rw\n"), 0o644))
		for folder, limit := range c.limits {
			iferr.Fatal(t, os.MkdirAll(filepath.Join(at, folder), 0o755))
			iferr.Fatal(t, os.WriteFile(filepath.Join(at, folder, "pids.max"), []byte(limit+"\n"), 0o644))
		}
		if got := MostTasks(proc, mounted); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
