package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"nettoll/record"
)

// placing is held while a temporary file is there, so that nobody who ends the program in
// an orderly way leaves one behind.
var placing sync.Mutex

// place writes what a user wants to have under a name. A file that is there stays as it is
// until the new one is complete, so that a full disk leaves the old one; links to it stay,
// and so do its permissions. What is not a file, such as a terminal, a pipe or /dev/null,
// is written to. Errors name what the user named.
func (a *app) place(path string, text []byte) error {
	err := func() error {
		if w := a.open(path); w != nil {
			_, err := w.Write(text)
			return err
		}
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			return errors.New("it is a folder")
		case err == nil && !info.Mode().IsRegular():
			return writeTo(path, text)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		target, err := followed(path)
		if err != nil {
			return err
		}
		return replace(target, text, info)
	}()
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return nil
}

// open is what a name means that stands for standard output or error, wherever that is led to,
// or nil: opened by its name, a file would be written from its beginning.
func (a *app) open(path string) io.Writer {
	switch filepath.Clean(path) {
	case "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return a.stdout
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return a.stderr
	}
	return nil
}

// writeTo writes to something that is not a file.
func writeTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return cmp.Or(err, f.Close())
}

// followed is what a chain of links leads to, whether it is there or not.
func followed(path string) (string, error) {
	const longest = 40 // as in the kernel
	for range longest {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // it is not a link, or not there
		}
		if path = to; !filepath.IsAbs(to) {
			path = filepath.Join(dir, to)
		}
	}
	return "", errors.New("too many links")
}

// replace puts a new file in the place of an old one, if there is one.
func replace(path string, text []byte, old fs.FileInfo) (err error) {
	placing.Lock()
	defer placing.Unlock()
	dir := filepath.Dir(path)
	name := filepath.Join(dir, ".nettoll-"+rand.Text())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less the umask
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	if old != nil {
		err = likewise(f, old) // before there is anything to read
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err = cmp.Or(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name, path); err != nil {
		return err
	}
	record.SyncFolder(path)
	return nil
}

// likewise gives a new file owner and permissions of an old one, where they differ: some
// file systems have the same for all files, and refuse to be told.
func likewise(f *os.File, old fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, was := info.Sys().(*syscall.Stat_t), old.Sys().(*syscall.Stat_t)
	if is.Uid != was.Uid || is.Gid != was.Gid {
		_ = f.Chown(int(was.Uid), int(was.Gid)) // which only root may
	}
	if info.Mode().Perm() == old.Mode().Perm() {
		return nil
	}
	return f.Chmod(old.Mode().Perm())
}

// cause is an error without the name of a file that only nettoll knows.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// What is read of a page to find out whose it is, and how long the id of a run is at
// least: nettoll's own have 24 digits.
const (
	mostPage   = 64 << 20
	shortestID = 16
)

// ownPage says whether there is nothing yet where the page of a run goes, or a page of that
// very run, which names it. Anything else is somebody's, and links are not followed: a page
// that nobody has named leads nowhere.
func ownPage(path, run string) bool {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() || len(run) < shortestID {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostPage))
	return err == nil && bytes.HasPrefix(text, []byte("<!doctype html>")) && bytes.Contains(text, []byte("run "+run))
}
