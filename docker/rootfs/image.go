// Package rootfs makes the root filesystem of a container image from programs of this machine: the
// programs, the libraries that they load, and the few files that they expect. It needs no registry, no
// distribution and no compiler, and the image contains exactly the requested programs.
//
// The stream is the same for the same files: names are sorted, times are zero, and everything belongs
// to root.
package rootfs

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"nettoll/internal/wrap"
)

// Program is a program of this machine to be put into an image.
type Program struct {
	File string // on this machine; symbolic links are followed
	Path string // in the image, absolute
}

// Data is a file or folder of this machine to be put into an image unchanged, at the same path.
type Data string

// Image is a root filesystem.
type Image struct{ tree tree }

// New reads the programs and finds their libraries. It keeps no file open and no content in memory. The
// error says in one line which program cannot be put into an image, and why: it is missing, a script, for
// another architecture, or lacks a library.
func New(programs ...Program) (*Image, error) { return With(nil, programs...) }

// With is New for programs that need additional files.
func With(data []Data, programs ...Program) (*Image, error) {
	b, err := newBuilder()
	for _, p := range programs {
		if err == nil {
			err = b.program(p)
		}
	}
	for _, d := range data {
		if err == nil {
			err = b.data(string(d))
		}
	}
	if err == nil {
		err = errors.Join(b.base(), b.databases())
	}
	if err != nil {
		return nil, fmt.Errorf("rootfs: %w", err)
	}
	return &Image{b.tree}, nil
}

// Static returns an image of programs that need no library, for any kind of machine, with texts by their
// paths in the image. It contains nothing of this machine, so that it is the same wherever it is made.
func Static(texts map[string]string, programs ...Program) (*Image, error) {
	b := &builder{tree: tree{}}
	return &Image{b.tree}, wrap.Error(b.static(texts, programs), "rootfs")
}

func (b *builder) static(texts map[string]string, programs []Program) error {
	for i, p := range programs {
		o, err := open(p.File)
		switch {
		case err != nil:
			return err
		case o.interp != "":
			return fmt.Errorf("%s needs shared libraries: link it statically", p.File)
		case i == 0:
			b.arch = o.arch
		}
		if err := b.program(p); err != nil {
			return err
		}
	}
	for name, content := range texts {
		if err := b.tree.file(name, 0o644, text(content), "a text"); err != nil {
			return err
		}
	}
	return b.base()
}

// Stream writes the image as a tar stream. It fails if a file has changed since the image was made.
func (m *Image) Stream(w io.Writer) error {
	t := tar.NewWriter(w)
	for _, name := range m.tree.names() {
		if err := m.write(t, name); err != nil {
			return fmt.Errorf("rootfs: write %s: %w", name, err)
		}
	}
	return wrap.Error(t.Close(), "rootfs: write the end of the image")
}

func (m *Image) write(t *tar.Writer, name string) error {
	e := m.tree[name]
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     strings.TrimPrefix(name, "/"),
		Mode:     int64(e.mode.Perm()),
		ModTime:  time.Unix(0, 0),
	}
	if e.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	if e.mode.IsDir() {
		h.Typeflag = tar.TypeDir
		h.Name += "/"
		return t.WriteHeader(h)
	}
	h.Size = e.size
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	return e.writeTo(t)
}
