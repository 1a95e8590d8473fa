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
	"strings"
)

// content is the content of a file of an image: a text, or the first size bytes of a file.
type content struct {
	text string
	file string // of this machine; empty for a text
	size int64
	sum  [sha256.Size]byte
}

// errChanged is the error for a file that has changed since it was read.
var errChanged = errors.New("has changed since it was read; try again")

// copyTo writes the content and returns its sum.
func (c *content) copyTo(w io.Writer) (sum [sha256.Size]byte, err error) {
	from := io.Reader(strings.NewReader(c.text))
	if c.file != "" {
		f, err := os.Open(c.file)
		if err != nil {
			return sum, err
		}
		defer f.Close()
		from = f
	}
	h := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w, h), from, c.size); errors.Is(err, io.EOF) {
		return sum, fmt.Errorf("%s %w", c.file, errChanged)
	} else if err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// writeTo writes the content, and fails if it has changed since it was read.
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
	what     string // description of a file for errors
}

// tree holds the files and folders of an image by their absolute paths.
type tree map[string]entry

// folder adds a folder and those above it.
func (t tree) folder(name string, mode fs.FileMode) error {
	if there, ok := t[name]; ok && !there.mode.IsDir() {
		return fmt.Errorf("%s would be both a folder and %s", name, there.what)
	}
	t[name] = entry{mode: fs.ModeDir | mode}
	return t.above(name)
}

// above adds the folders above a path.
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

// file adds a file; what is its description for errors. Adding the same content twice at a path is not an
// error.
func (t tree) file(name string, mode fs.FileMode, c *content, what string) error {
	if name != path.Clean(name) || !path.IsAbs(name) || name == "/" {
		return fmt.Errorf("%q is not a path of a file in an image: give an absolute path without . and ..", name)
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
		return fmt.Errorf("%s would be both %s and %s: put them into separate images", name, there.what, what)
	}
	c.sum = sum
	t[name] = entry{mode: mode, content: c, what: what}
	return t.above(name)
}

// copy adds a file of this machine.
func (t tree) copy(name string, mode fs.FileMode, file, what string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return t.file(name, mode, &content{file: file, size: info.Size()}, what)
}

// text returns a content that is not a file of this machine.
func text(s string) *content { return &content{text: s, size: int64(len(s))} }

// names returns all paths in order, folders before their contents.
func (t tree) names() []string { return slices.Sorted(maps.Keys(t)) }
