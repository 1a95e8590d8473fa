// Package beside finds files next to the running program, where "make" puts its agent and the programs and plugins
// that networks use. nettoll runs such files, often as root, so they are used only if nobody else could have put
// them there.
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

// Find returns the path of a file or folder next to the running program. The error is fs.ErrNotExist if there is
// none; any other error says why it is not used.
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
		return "", fmt.Errorf("%s is ignored: %w", path, err)
	}
	return path, nil
}

// owners returns the users whose files may be run: root, the user, and the owner of the running program, who could
// have replaced that as well. In a user namespace of an ordinary user, the files of root and of all other users
// belong to the overflow user; there all that can be checked is that nobody else can write to the folder.
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

// unmapped returns the overflow user, who stands for users that this user namespace does not map, if it does not
// map all.
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

// trusted refuses a file that users other than the owners could change or replace. Links are followed, and their
// targets must meet the same conditions.
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

// folders checks the folder of a file and all folders above it. In the folders above, others may create files if
// they cannot replace those of their owners, as in /tmp.
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

// only refuses a file that does not belong to one of the owners, or that others may write to.
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

// private reports whether a group has a single user, as many distributions create them, with write access to all
// files that the user makes.
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
