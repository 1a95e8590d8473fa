package cgroup

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// In version 2, a group hands controllers down to those below it, and container runtimes have all groups above their containers
// hand down all that there are: the root, too, so that groups of the whole machine get controllers that they did not have. These
// are taken back with the last control group of a run. What was there before is an attribute of the groups of runs, so that
// it is known after any of them was killed.
const before = "trusted.nettoll.controllers"

// subtree is the file with the controllers that a group hands down.
const subtree = "cgroup.subtree_control"

// note makes the attribute of a new group of a run. Where it cannot be made, the controllers stay.
func note(group string) {
	now, err := os.ReadFile(filepath.Join(filepath.Dir(group), subtree))
	if err != nil {
		return // version 1
	}
	for _, other := range ofRuns(filepath.Dir(group)) {
		if was, known := noted(other); known {
			now = []byte(strings.Join(was, " "))
		}
	}
	_ = unix.Setxattr(group, before, now, 0)
}

// noted returns the controllers in the attribute of a group.
func noted(group string) (controllers []string, known bool) {
	b := make([]byte, 4096)
	n, err := unix.Getxattr(group, before, b)
	if err != nil {
		return nil, false
	}
	return strings.Fields(string(b[:n])), true
}

// takeBack has a root hand down no other controllers than it did, unless there is a group of another run, or another group of the
// machine has a limit by one of them, which would be lost without a word. The kernel refuses for those that a group hands down
// further. fresh are the limits of a group that has none.
func takeBack(root string, was []string, fresh map[string]string) {
	now, err := os.ReadFile(filepath.Join(root, subtree))
	if err != nil || len(ofRuns(root)) > 0 {
		return
	}
	groups, _ := filepath.Glob(filepath.Join(root, "*", "cgroup.procs")) // the error can only be about the pattern
	for _, c := range strings.Fields(string(now)) {
		limited := func(procs string) bool {
			has := limits(filepath.Dir(procs), c)
			maps.DeleteFunc(has, func(file, value string) bool { return fresh[file] == value })
			return len(has) > 0
		}
		if !slices.Contains(was, c) && !slices.ContainsFunc(groups, limited) {
			_ = os.WriteFile(filepath.Join(root, subtree), []byte("-"+c), 0)
		}
	}
}

// limits returns what can be set for a group, by the files of a controller, or of all.
func limits(group, controller string) map[string]string {
	all := map[string]string{}
	paths, _ := filepath.Glob(filepath.Join(group, controller+".*")) // likewise
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || info.Mode()&0o200 == 0 || slices.Contains([]string{".peak", ".pressure", ".reclaim"}, filepath.Ext(path)) {
			continue // it is no limit
		}
		if b, err := os.ReadFile(path); err == nil {
			all[filepath.Base(path)] = string(b)
		}
	}
	return all
}

// ofRuns returns the control groups of runs in a root.
func ofRuns(root string) []string {
	paths, _ := filepath.Glob(filepath.Join(root, prefix+strings.Repeat("[0-9a-f]", digits))) // the error can only be about the pattern
	return paths
}
