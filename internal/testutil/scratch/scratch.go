// Package scratch gives test programs temporary folders that do not stay for long if the program is killed: the next
// one that makes a folder of the same name removes them.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir makes a folder whose name begins with the given one, in the folder for temporary files, and removes those of
// programs that have ended. The folder belongs to this process until remove is called: a lock on it ends with the
// process, however that ends.
func Dir(name string) (dir string, remove func() error, err error) {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), name+"-[0-9]*"))
	if err != nil {
		return "", nil, err
	}
	for _, old := range left {
		sweep(old)
	}
	for {
		dir, err := os.MkdirTemp("", name+"-")
		if err != nil {
			return "", nil, err
		}
		lock, err := take(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another program has removed it before it was locked
		}
		if err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
		return dir, func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }, nil
	}
}

// take locks a folder.
func take(dir string) (lock *os.File, err error) {
	lock, err = os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		err = fs.ErrNotExist // it is being removed
	}
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// sweep removes a folder that no process holds. Folders of other users are theirs to remove.
func sweep(dir string) {
	lock, err := take(dir)
	if err != nil {
		return
	}
	defer lock.Close()
	_ = os.RemoveAll(dir) // it is tried again next time
}
