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
	o, err := b.open(p.File)
	if err != nil {
		return err
	}
	if err := b.tree.copy(p.Path, 0o755, p.File, p.File); err != nil || o.interp == "" {
		return err
	}
	loader, err := o.loader(p.File)
	if err != nil {
		return err
	}
	if err := b.library(o.interp, loader, p.File); err != nil {
		return err
	}
	return b.libraries(p.File, loader)
}

// open opens a file that has to be a program for the builder's architecture.
func (b *builder) open(file string) (*object, error) {
	o, err := open(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no program %q; install it, or do without it", file)
	case errors.Is(err, errNotELF):
		if interpreter, ok := script(file); ok {
			return nil, fmt.Errorf("%s is a script (%s), and only programs can be taken along: name the program that it runs", file, interpreter)
		}
		return nil, fmt.Errorf("%s is not a program: it is not an ELF file", file)
	case err != nil:
		return nil, err
	case o.arch != b.arch:
		return nil, fmt.Errorf("%s is for %v, but this machine is %v: give a build for this machine", file, o.arch, b.arch)
	case !o.entry:
		return nil, fmt.Errorf("%s is not a program: it is a library or an object file", file)
	}
	return o, nil
}

// loader returns the loader of a program that is not linked statically.
func (o *object) loader(program string) (string, error) {
	loader, err := filepath.EvalSymlinks(o.interp)
	if err != nil {
		return "", fmt.Errorf("%s needs the loader %s, which is not on this machine; install it, or a build of the program for this distribution", program, o.interp)
	}
	return loader, nil
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
