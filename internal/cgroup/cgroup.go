// Package cgroup keeps the control groups of engines and nodes that nettoll starts: the kernel does not
// remove them when a lab ends.
package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	prefix = "nettoll-"
	digits = 12 // of a run's id, in the names of its control groups
)

// Of returns the name of the control group of all containers of a run's private engines and nodes. The run's id has at least 12
// hexadecimal digits: groups of other names are somebody else's.
func Of(run string) string { return prefix + run[:min(digits, len(run))] }

// Roots returns the roots of the hierarchies: the single one of version 2, or those
// of version 1, in order.
func Roots() []string { return rootsIn("/sys/fs/cgroup") }

func rootsIn(folder string) (roots []string) {
	if _, err := os.Stat(filepath.Join(folder, "cgroup.procs")); err == nil {
		return []string{folder}
	}
	procs, _ := filepath.Glob(filepath.Join(folder, "*", "cgroup.procs")) // the error can only be about the pattern
	for _, p := range procs {
		root := filepath.Dir(p)
		if info, err := os.Lstat(root); err == nil && info.IsDir() { // no link, such as cpu to cpu,cpuacct
			roots = append(roots, root)
		}
	}
	return roots
}

// Hold makes the control group of a run, and keeps it from being swept until the
// file is closed or the process has ended, however it ends. It returns nil if that is not possible;
// the programs that need it will report why.
func Hold(run string) *os.File {
	for _, root := range Roots() {
		if f := hold(filepath.Join(root, Of(run))); f != nil {
			return f
		}
	}
	return nil
}

// hold makes a control group and locks it. If it is swept meanwhile, it is made again.
func hold(path string) *os.File {
	for {
		err := os.Mkdir(path, 0o755)
		if err == nil {
			note(path)
		} else if !errors.Is(err, fs.ErrExist) {
			return nil
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
		held, heldErr := f.Stat()
		is, isErr := os.Stat(path)
		if err == nil && heldErr == nil && isErr == nil && os.SameFile(held, is) {
			return f
		}
		f.Close()
		if err != nil {
			return nil
		}
	}
}

// eachLeft calls do for each control group that killed private engines and nodes have left behind, in the
// order of their names, with its paths in all hierarchies. These are groups that contain no process and
// that no running process holds. They are locked meanwhile.
func eachLeft(do func(name string, paths []string)) {
	all := map[string][]string{}
	for _, root := range Roots() {
		for _, path := range ofRuns(root) {
			name := filepath.Base(path)
			all[name] = append(all[name], path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.ContainsFunc(all[name], populated) {
			continue
		}
		locks, free := lockAll(all[name])
		if free {
			do(name, all[name])
		}
		for _, f := range locks {
			f.Close()
		}
	}
}

// populated reports whether a process is in a control group or below it.
func populated(group string) bool { return len(listed(group)) > 0 }

// listed returns the processes of a control group and of those below it, as the kernel lists them: as 0 if this
// process's PID namespace does not show them.
func listed(group string) (all []string) {
	_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "cgroup.procs" {
			b, _ := os.ReadFile(path)
			all = append(all, strings.Fields(string(b))...)
		}
		return nil // unreadable files are about to disappear
	})
	return all
}

// lockAll locks control groups, and reports whether nobody else holds one.
func lockAll(paths []string) (locks []*os.File, free bool) {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		locks = append(locks, f)
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return locks, false
		}
	}
	return locks, true
}

// Left lists the control groups that private engines and nodes have left behind, by name. Nothing else
// of these can outlive their lab.
func Left() (names []string) {
	eachLeft(func(name string, _ []string) { names = append(names, name) })
	return names
}

// Sweep removes the groups that Left lists, of one run, or of all if run is "", and returns
// the names of those that it removed. The error names those that could not be removed.
func Sweep(run string) (removed []string, err error) {
	var errs []error
	eachLeft(func(name string, paths []string) {
		if run != "" && name != Of(run) {
			return
		}
		switch err := sweep(paths); {
		case err == nil:
			removed = append(removed, name)
		case errors.Is(err, fs.ErrPermission):
			errs = append(errs, fmt.Errorf("remove control group %s: %w; try as root", name, err))
		case !errors.Is(err, unix.EBUSY): // EBUSY: it is in use again
			errs = append(errs, fmt.Errorf("remove control group %s: %w", name, err))
		}
	})
	return removed, errors.Join(errs...)
}

// removalTime bounds how long the kernel may take to release processes that have just ended in a
// control group. On a busy machine these wait for a CPU before they end.
const removalTime = 20 * time.Second

// Remove removes control groups of a lab that has ended, unless they are in use.
func Remove(names []string) {
	there := func(name string) bool {
		return slices.ContainsFunc(Roots(), func(root string) bool {
			_, err := os.Stat(filepath.Join(root, name))
			return err == nil
		})
	}
	for deadline := time.Now().Add(removalTime); slices.ContainsFunc(names, there) && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		eachLeft(func(name string, paths []string) {
			if slices.Contains(names, name) {
				_ = sweep(paths) // it is tried again
			}
		})
	}
}

// sweep removes control groups and those below them. The kernel refuses to remove those in use.
func sweep(groups []string) error {
	var all []string
	for _, group := range groups {
		_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil // groups that are gone need not be removed
		})
	}
	var takeBacks []func()
	for _, group := range groups {
		if was, known := noted(group); known {
			fresh := limits(group, "*") // runtimes set those of groups below it
			takeBacks = append(takeBacks, func() { takeBack(filepath.Dir(group), was, fresh) })
		}
	}
	var errs []error
	for _, path := range slices.Backward(all) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, do := range takeBacks {
		do()
	}
	return cmp.Or(errs...)
}

// Kill kills the processes of a control group and of those below it, and returns how many there were.
func Kill(group string) (killed int) {
	for _, pid := range Processes(group) {
		if unix.Kill(pid, unix.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// Processes returns the processes of a control group and of those below it, except those that this
// process's PID namespace does not show.
func Processes(group string) (all []int) {
	for _, text := range listed(group) {
		if pid, err := strconv.Atoi(text); err == nil && pid > 0 {
			all = append(all, pid)
		}
	}
	return all
}
