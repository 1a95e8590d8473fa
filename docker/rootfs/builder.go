package rootfs

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// selfFile is the running program, even if its file has been replaced meanwhile.
const selfFile = "/proc/self/exe"

// builder builds an image.
type builder struct {
	tree tree
	arch arch // of this machine: that of the running program
}

func newBuilder() (*builder, error) {
	self, err := open(selfFile)
	if err != nil {
		return nil, err
	}
	return &builder{tree: tree{}, arch: self.arch}, nil
}

// program adds a program, its loader and its libraries.
func (b *builder) program(p Program) error {
	o, err := open(p.File)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no program %q; install it, or make the image without it", p.File)
	case errors.Is(err, errNotELF):
		if interpreter, ok := script(p.File); ok {
			return fmt.Errorf("%s is a script (%s), and images take programs only: name the program that it runs", p.File, interpreter)
		}
		return fmt.Errorf("%s is not a program: it is not an ELF file", p.File)
	case err != nil:
		return err
	case o.arch != b.arch:
		return fmt.Errorf("%s is for %v, but this machine is %v: give a build for this machine", p.File, o.arch, b.arch)
	case !o.entry:
		return fmt.Errorf("%s is not a program: it is a library or an object file", p.File)
	}
	if err := b.tree.copy(p.Path, 0o755, p.File, p.File); err != nil || o.interp == "" {
		return err
	}
	loader, err := filepath.EvalSymlinks(o.interp)
	if err != nil {
		return fmt.Errorf("%s needs the loader %s, which is not on this machine; install it, or a build of the program for this distribution", p.File, o.interp)
	}
	if err := b.library(o.interp, loader, p.File); err != nil {
		return err
	}
	return b.libraries(p.File, loader)
}

// script reports whether a file is a script, and returns its first line.
func script(file string) (string, bool) {
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	line, _, _ := bufio.NewReader(f).ReadLine()
	return strings.TrimSpace(string(line)), strings.HasPrefix(string(line), "#!")
}

// data adds a file, or all files of a folder. Links are followed; anything except files and
// folders is left out.
func (b *builder) data(name string) error {
	if !filepath.IsAbs(name) {
		return fmt.Errorf("%q is not an absolute path", name)
	}
	return filepath.WalkDir(name, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		const everybody = 0o444 // everybody in the image can read the file, whoever could do so here
		return b.tree.copy(path, info.Mode().Perm()|everybody, path, path+" of this machine")
	})
}

// folders exist in every image: mount points of the runtime, and folders that programs take for
// granted.
var folders = map[string]fs.FileMode{
	"/dev":     0o755,
	"/proc":    0o555,
	"/root":    0o700,
	"/run":     0o755,
	"/sys":     0o555,
	"/tmp":     0o777 | fs.ModeSticky,
	"/var/tmp": 0o777 | fs.ModeSticky,
}

// texts are the files of every image.
var texts = map[string]string{
	"/etc/passwd":        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
	"/etc/group":         "root:x:0:\nnogroup:x:65534:\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nprotocols: files\nservices: files\n",
}

// fromHere are files of this machine that programs read if they exist: netperf and qperf look up
// protocols and services.
var fromHere = []string{"/etc/protocols", "/etc/services"}

// base adds the contents of every image.
func (b *builder) base() error {
	for name, mode := range folders {
		if err := b.tree.folder(name, mode); err != nil {
			return err
		}
	}
	for name, content := range texts {
		if err := b.tree.file(name, 0o644, text(content), "a file of every image"); err != nil {
			return err
		}
	}
	return nil
}

// databases adds the databases of this machine.
func (b *builder) databases() error {
	for _, name := range fromHere {
		if err := b.data(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
