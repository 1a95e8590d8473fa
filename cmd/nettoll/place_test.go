package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

// TestReplace checks that a file that was not there before never has another name, which a process that is killed would leave, and
// that one that appears meanwhile is replaced.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	if f, err := os.OpenFile(dir, os.O_WRONLY|unix.O_TMPFILE, 0o666); err != nil {
		t.Skip("this file system has no files without names")
	} else {
		f.Close()
	}
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	iferr.Fatal(t, err)
	defer unix.Close(watch)
	_, err = unix.InotifyAddWatch(watch, dir, unix.IN_CREATE|unix.IN_MOVED_FROM)
	iferr.Fatal(t, err)
	path := filepath.Join(dir, "file")
	for _, c := range []struct {
		text    string
		another bool // name is there for a while
	}{{"one", false}, {"another", true}} {
		iferr.Fatal(t, replace(path, []byte(c.text), nil))
		if text, err := os.ReadFile(path); err != nil || string(text) != c.text {
			t.Errorf("the file has %q, %v", text, err)
		}
		var events [4096]byte
		n, err := unix.Read(watch, events[:])
		if err != nil || bytes.Contains(events[:n], []byte(".nettoll-")) != c.another {
			t.Errorf("%s: %q, %v", c.text, events[:max(n, 0)], err)
		}
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("files are %v", left)
	}
}
