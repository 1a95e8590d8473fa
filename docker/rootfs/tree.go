package rootfs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
)

// content is what a file of an image has in it: head, and then what file has from
// there to size.
type content struct {
	head []byte
	file string // of this machine; empty where head is all
	size int64
	sum  [sha256.Size]byte
}

// errChanged is the error of a file that is no longer what it was.
var errChanged = errors.New("has changed since it was read; try again")

// copyTo writes the content and gives its sum.
func (c *content) copyTo(w io.Writer) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	to := io.MultiWriter(w, h)
	if _, err := to.Write(c.head); err != nil {
		return sum, err
	}
	if c.file != "" {
		f, err := os.Open(c.file)
		if err != nil {
			return sum, err
		}
		defer f.Close()
		at := int64(len(c.head))
		n, err := io.Copy(to, io.NewSectionReader(f, at, c.size-at))
		if err != nil {
			return sum, err
		}
		if at+n < c.size {
			return sum, fmt.Errorf("%s %w", c.file, errChanged)
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// writeTo writes what was in the file when the content was made, or fails.
func (c *content) writeTo(w io.Writer) error {
	sum, err := c.copyTo(w)
	if err == nil && sum != c.sum {
		err = fmt.Errorf("%s %w", c.file, errChanged)
	}
	return err
}

// entry is a file or folder of an image.
type entry struct {
	mode     fs.FileMode
	*content        // nil for a folder
	what     string // what a file is, for errors
}

// tree is the files and folders of an image by their absolute paths.
type tree map[string]entry

// folder adds a folder and those above it.
func (t tree) folder(name string, mode fs.FileMode) error {
	if there, ok := t[name]; ok && !there.mode.IsDir() {
		return fmt.Errorf("%s would be both a folder and %s", name, there.what)
	}
	t[name] = entry{mode: fs.ModeDir | mode}
	return t.above(name)
}

// above adds the folders that a path is in.
func (t tree) above(name string) error {
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if there, ok := t[dir]; !ok {
			t[dir] = entry{mode: fs.ModeDir | 0o755}
		} else if !there.mode.IsDir() {
			return fmt.Errorf("%s would be both a folder and %s", dir, there.what)
		}
	}
	return nil
}

// file adds a file, of which errors say what it is. That a path is given the same
// content twice is no error.
func (t tree) file(name string, mode fs.FileMode, c *content, what string) error {
	if name != path.Clean(name) || !path.IsAbs(name) || name == "/" {
		return fmt.Errorf("%q is not a path of a file in an image: give an absolute one without . and .. in it", name)
	}
	there, ok := t[name]
	if ok && there.mode.IsDir() {
		return fmt.Errorf("%s would be both a folder and %s", name, what)
	}
	sum, err := c.copyTo(io.Discard)
	if err != nil {
		return err
	}
	if ok && there.sum != sum {
		return fmt.Errorf("%s would be both %s and %s: give them images of their own", name, there.what, what)
	}
	c.sum = sum
	t[name] = entry{mode: mode, content: c, what: what}
	return t.above(name)
}

// text is a content that is no file of this machine.
func text(s string) *content { return &content{head: []byte(s), size: int64(len(s))} }

// names gives all paths in order, folders before what is in them.
func (t tree) names() []string { return slices.Sorted(maps.Keys(t)) }
