package dockerd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// groupOf names the control group of all containers of a run's private engines.
func groupOf(run string) string { return "nettoll-" + run[:min(12, len(run))] }

// cgroupRoots are where hierarchies of control groups are: the one of version 2, or
// those of version 1, in order.
func cgroupRoots() []string {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.procs"); err == nil {
		return []string{"/sys/fs/cgroup"}
	}
	procs, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil {
		return nil
	}
	roots := make([]string, len(procs))
	for i, p := range procs {
		roots[i] = filepath.Dir(p)
	}
	return roots
}

// HoldCgroup makes the control group of a run's private engines, and keeps it from being swept
// until the file is closed, or the process has ended in whatever way. It is nil where that
// cannot be, and dockerd will say why.
func HoldCgroup(run string) *os.File {
	for _, root := range cgroupRoots() {
		path := filepath.Join(root, groupOf(run))
		for {
			if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				break
			}
			f, err := os.Open(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was swept in this moment
			}
			if err != nil {
				break
			}
			err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
			held, statErr := f.Stat()
			is, isErr := os.Stat(path)
			if err == nil && statErr == nil && isErr == nil && os.SameFile(held, is) {
				return f
			}
			f.Close()
			if err != nil {
				break
			}
		}
	}
	return nil
}

// leftCgroups are the control groups of private engines in which no process is and which
// nobody holds, by their names, with their paths in all hierarchies.
func leftCgroups() map[string][]string {
	all := map[string][]string{}
	for _, root := range cgroupRoots() {
		paths, err := filepath.Glob(filepath.Join(root, "nettoll-*"))
		if err != nil {
			continue
		}
		for _, path := range paths {
			name := filepath.Base(path)
			all[name] = append(all[name], path)
		}
	}
	for name, paths := range all {
		if slices.ContainsFunc(paths, populated) {
			delete(all, name)
		}
	}
	return all
}

// populated says that a process is in a control group or in one below it.
func populated(group string) bool {
	in := false
	_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "cgroup.procs" {
			b, err := os.ReadFile(path)
			in = in || err == nil && len(bytes.TrimSpace(b)) > 0
		}
		return nil // what cannot be read is going away
	})
	return in
}

// LeftCgroups lists the control groups that private engines have left behind when they
// were killed, by name, in order: those in which no process is, and which no process that
// runs holds. Nothing else of theirs can outlive its lab.
func LeftCgroups() []string {
	var names []string
	for name, paths := range leftCgroups() {
		if locks, ok := lockAll(paths); ok {
			names = append(names, name)
			unlock(locks)
		}
	}
	slices.Sort(names)
	return names
}

// SweepCgroups removes what LeftCgroups lists, of one run, or of all where none is named, and
// gives the names of what is gone. The error says which could not be removed.
func SweepCgroups(run string) (removed []string, err error) {
	var errs []error
	for name, paths := range leftCgroups() {
		if run != "" && name != groupOf(run) {
			continue
		}
		locks, ok := lockAll(paths)
		if !ok {
			continue
		}
		var failed error
		for _, path := range paths {
			if err := sweep(path); err != nil && !errors.Is(err, unix.EBUSY) {
				failed = fmt.Errorf("docker: remove control group %s: %w", name, err)
			}
		}
		unlock(locks)
		switch _, there := leftCgroups()[name]; {
		case errors.Is(failed, fs.ErrPermission):
			errs = append(errs, fmt.Errorf("%w; try as root", failed))
		case failed != nil:
			errs = append(errs, failed)
		case !there:
			removed = append(removed, name)
		}
	}
	slices.Sort(removed)
	return removed, errors.Join(errs...)
}

// removalTime bounds how long the kernel may take to let go of those who have just ended in
// a control group.
const removalTime = 2 * time.Second

// RemoveCgroups removes control groups of a lab that has ended, unless somebody uses them.
func RemoveCgroups(names []string) {
	for deadline := time.Now().Add(removalTime); ; time.Sleep(5 * time.Millisecond) {
		there := false
		for _, root := range cgroupRoots() {
			for _, name := range names {
				_, err := os.Stat(filepath.Join(root, name))
				there = there || err == nil
			}
		}
		if !there || time.Now().After(deadline) {
			return
		}
		left := leftCgroups()
		for _, name := range names {
			locks, ok := lockAll(left[name])
			for _, path := range left[name] {
				if ok {
					_ = sweep(path) // it is tried again
				}
			}
			unlock(locks)
		}
	}
}

// sweep removes a control group and those in it. The kernel refuses those in use.
func sweep(group string) error {
	in, err := os.ReadDir(group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range in {
		if d.IsDir() {
			if err := sweep(filepath.Join(group, d.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(group); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lockAll locks control groups that nobody holds.
func lockAll(paths []string) (locks []*os.File, ok bool) {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		locks = append(locks, f)
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			unlock(locks)
			return nil, false
		}
	}
	return locks, true
}

func unlock(locks []*os.File) {
	for _, f := range locks {
		f.Close()
	}
}
