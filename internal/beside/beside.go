// Package beside finds what lies beside the running program, where "make" puts its agent and
// the programs and plugins that networks are made of. nettoll runs such files, often as root:
// they are used only where nobody else could have put them there.
package beside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Find gives the path of a file or folder beside the running program. The error is
// fs.ErrNotExist where there is none, and else says why it is passed over.
func Find(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return find(self, name, owners(self))
}

func find(self, name string, owners []uint32) (string, error) {
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Lstat(path); err != nil {
		return "", fs.ErrNotExist
	}
	if err := trusted(path, owners); err != nil {
		return "", fmt.Errorf("%s is passed over: %w", path, err)
	}
	return path, nil
}

// owners are those whose files may be run: root, the user, and whoever owns the running
// program, since that one could be another as well. In a user namespace of an ordinary user
// the files of root, and those of all others, belong to an owner without a number; there the
// folder must be one that nobody else can write to, and that is all that can be known.
func owners(self string) []uint32 {
	all := []uint32{0, uint32(os.Geteuid())}
	if info, err := os.Stat(self); err == nil {
		all = append(all, info.Sys().(*syscall.Stat_t).Uid)
	}
	if overflow, ok := unmapped(); ok {
		all = append(all, overflow)
	}
	return all
}

// unmapped is the number that stands for users whom this user namespace does not know, if it
// is one that does not know all.
func unmapped() (uint32, bool) {
	m, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || strings.Join(strings.Fields(string(m)), " ") == "0 0 4294967295" {
		return 0, false
	}
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	return uint32(n), err == nil
}

// trusted refuses a file that others than the owners could change, or put in the place of
// another. Links are followed, and what they lead to is held to the same.
func trusted(path string, owners []uint32) error {
	const longest = 40 // as in the kernel
	for range longest {
		if err := folders(filepath.Dir(path), owners); err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return only(path, info, owners)
		}
		to, err := os.Readlink(path)
		if err != nil {
			return err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return errors.New("too many links")
}

// folders looks at the folder of a file and at all above it. In those others may make files
// where they cannot replace those of their owners, as in /tmp.
func folders(dir string, owners []uint32) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		err = only(at, info, owners)
		if sticky := info.Mode()&fs.ModeSticky != 0 && at != dir; err != nil && !sticky {
			return err
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

const (
	groupWrite = 0o020
	otherWrite = 0o002
)

// only refuses what does not belong to one of the owners, or what others may write to.
func only(path string, info fs.FileInfo, owners []uint32) error {
	is := info.Sys().(*syscall.Stat_t)
	switch {
	case !slices.Contains(owners, is.Uid):
		return fmt.Errorf("%s belongs to %s", path, name(is.Uid))
	case info.Mode()&otherWrite != 0:
		return fmt.Errorf("everybody may write to %s", path)
	case info.Mode()&groupWrite != 0 && is.Gid != 0 && !private(is.Gid, is.Uid):
		return fmt.Errorf("a group may write to %s", path)
	}
	return nil
}

// private reports whether a group is that of one user alone, as many distributions make them,
// who let it write to all that the user makes.
func private(gid, uid uint32) bool {
	g, err := user.LookupGroupId(strconv.FormatUint(uint64(gid), 10))
	return err == nil && g.Name == name(uid)
}

func name(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "user " + id
}
