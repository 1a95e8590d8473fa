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

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// placing is held while a temporary file exists, so that a regular end of the program leaves none behind.
var placing sync.Mutex

// place writes a file that the user named. An existing file is not changed until the new one is complete, so that a
// full disk leaves the old one; links to it and its permissions are kept, and one that may not be written stays. If the
// name is not that of a regular file, such as a terminal, a pipe or /dev/null, the text is written to it. Errors use
// the name that the user gave.
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
		if err == nil && info != nil {
			err = writeTo(target, nil) // it may not be written, though its folder may
		}
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

// open returns standard output or error if the name stands for one of them, wherever that is redirected, or nil:
// opened by its name, a file would be overwritten from its beginning.
func (a *app) open(path string) io.Writer {
	switch filepath.Clean(path) {
	case "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return a.stdout
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return a.stderr
	}
	return nil
}

// writeTo writes to something that stays what it is. Without a text it finds out whether that may be written.
func writeTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return cmp.Or(err, f.Close())
}

// followed returns the target of a chain of links, whether it exists or not.
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
			return path, nil // it is not a link, or does not exist
		}
		if path = to; !filepath.IsAbs(to) {
			path = filepath.Join(dir, to)
		}
	}
	return "", errors.New("too many links")
}

// replace creates a file, or replaces the old one, if there is one.
func replace(path string, text []byte, old fs.FileInfo) (err error) {
	placing.Lock()
	defer placing.Unlock()
	dir := filepath.Dir(path)
	name := filepath.Join(dir, ".nettoll-"+rand.Text())
	// Without a name until it is complete, a process that is killed leaves none behind, unless that is just before it replaces the
	// old file. Some file systems have no such files.
	f, err := os.OpenFile(dir, os.O_WRONLY|unix.O_TMPFILE, 0o666) // less the umask
	nameless := err == nil
	if !nameless {
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	if old != nil {
		err = likewise(f, old) // before the file has any content
	}
	if err == nil {
		_, err = f.Write(text)
	}
	err = cmp.Or(err, f.Sync())
	link := func(to string) error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
	}
	placed := err == nil && nameless && old == nil && link(path) == nil // otherwise another process has made one meanwhile
	if err == nil && nameless && !placed {
		err = link(name)
	}
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	if !placed {
		if err := os.Rename(name, path); err != nil {
			return err
		}
	}
	record.SyncFolder(path)
	return nil
}

// likewise gives a new file the owner and permissions of an old one, if they differ: some file systems have fixed
// ones for all files, and refuse changes.
func likewise(f *os.File, old fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, was := info.Sys().(*syscall.Stat_t), old.Sys().(*syscall.Stat_t)
	if is.Uid != was.Uid || is.Gid != was.Gid {
		_ = f.Chown(int(was.Uid), int(was.Gid)) // only root may
	}
	if info.Mode().Perm() == old.Mode().Perm() {
		return nil
	}
	return f.Chmod(old.Mode().Perm())
}

// cause strips from an error the name of a file that the user does not know.
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

// The number of bytes of a page that are read to find out which run it belongs to, and the least length of a run's
// id: nettoll's own have 24 digits.
const (
	mostPage   = 64 << 20
	shortestID = 16
)

// ownPage reports whether the path of a run's page is free, or has a page of that same run, which names the run.
// Anything else belongs to the user. Links are not followed: nobody asked for this page to be written elsewhere.
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

// hold keeps the file system of a run file from being unmounted until release is called. A lab has mounts of its own, so that what is
// open there keeps nobody from it. If no file is named, it is in the working directory, which this process has.
func hold(file string) (release func()) {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	dir, err := os.OpenFile(filepath.Dir(file), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {} // the run says what is wrong with it
	}
	return func() { dir.Close() }
}
