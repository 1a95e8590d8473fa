package engine

import (
	"bytes"
	"cmp"
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
		if f := hold(filepath.Join(root, groupOf(run))); f != nil {
			return f
		}
	}
	return nil
}

// hold makes a control group and locks it. One that is swept meanwhile is made again.
func hold(path string) *os.File {
	for {
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
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

// eachLeft does something with each control group that private engines have left behind when
// they were killed, in the order of their names, with its paths in all hierarchies: those in which
// no process is, and which no process that runs holds. They are locked meanwhile.
func eachLeft(do func(name string, paths []string)) {
	all := map[string][]string{}
	var names []string
	for _, root := range cgroupRoots() {
		paths, err := filepath.Glob(filepath.Join(root, "nettoll-*"))
		if err != nil {
			continue
		}
		for _, path := range paths {
			name := filepath.Base(path)
			all[name], names = append(all[name], path), append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
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

// lockAll locks control groups, and says whether nobody else holds one.
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

// LeftCgroups lists the control groups that private engines have left behind, by name.
// Nothing else of theirs can outlive its lab.
func LeftCgroups() (names []string) {
	eachLeft(func(name string, _ []string) { names = append(names, name) })
	return names
}

// SweepCgroups removes what LeftCgroups lists, of one run, or of all where none is named, and
// gives the names of what is gone. The error says which could not be removed.
func SweepCgroups(run string) (removed []string, err error) {
	var errs []error
	eachLeft(func(name string, paths []string) {
		if run != "" && name != groupOf(run) {
			return
		}
		switch err := sweep(paths); {
		case err == nil:
			removed = append(removed, name)
		case errors.Is(err, fs.ErrPermission):
			errs = append(errs, fmt.Errorf("docker: remove control group %s: %w; try as root", name, err))
		case !errors.Is(err, unix.EBUSY): // somebody uses it again
			errs = append(errs, fmt.Errorf("docker: remove control group %s: %w", name, err))
		}
	})
	return removed, errors.Join(errs...)
}

// removalTime bounds how long the kernel may take to let go of those who have just ended in
// a control group.
const removalTime = 2 * time.Second

// RemoveCgroups removes control groups of a lab that has ended, unless somebody uses them.
func RemoveCgroups(names []string) {
	there := func(name string) bool {
		return slices.ContainsFunc(cgroupRoots(), func(root string) bool {
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

// sweep removes control groups and those in them. The kernel refuses those in use.
func sweep(groups []string) error {
	var all []string
	for _, group := range groups {
		_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil // what is gone need not be removed
		})
	}
	var errs []error
	for _, path := range slices.Backward(all) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return cmp.Or(errs...)
}
