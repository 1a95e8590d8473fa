package rootfs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nettoll/internal/oneline"
)

// byName are libraries that the C library opens by name when a thread is cancelled or a database is read.
// They are added if this machine has them.
var byName = []string{"libgcc_s.so.1", "libnss_files.so.2"}

const cLibrary = "libc.so.6"

// listTime bounds how long a loader may take to find the libraries of a program.
const listTime = time.Minute

// library is a library of a program: where the loader looks for it, and the file on this machine.
type library struct{ name, file string }

// needs returns all libraries that the loader loads for a program, in its order, followed by those of byName. It asks
// the loader for them, as ldd(1) does. The name of each is the one by which it is looked up, if that is an absolute
// path, and otherwise that name in the loader's directory.
func needs(program, loader string) (all []library, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	absolute, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, loader, "--list", absolute)
	list.Env = []string{"LC_ALL=C"} // without LD_LIBRARY_PATH, as where the program will run
	out, err := list.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s needs a library that cannot be loaded on this machine; install the package that has it: %w: %s", program, err, oneline.Words(string(out)))
	}
	own := filepath.Dir(loader)
	var further []library
	for line := range bytes.Lines(out) {
		name, file := loads(string(line))
		if file == "not found" { // other loaders fail
			return nil, fmt.Errorf("%s needs the library %s, which is not on this machine; install the package that has it", program, name)
		}
		if !filepath.IsAbs(file) || same(file, loader) {
			continue
		}
		if !filepath.IsAbs(name) {
			name = path.Join(own, name)
		}
		all = append(all, library{name, file})
		if path.Base(name) != cLibrary {
			continue
		}
		for _, base := range byName {
			beside := filepath.Join(filepath.Dir(file), base)
			if _, err := os.Stat(beside); err == nil {
				further = append(further, library{path.Join(own, base), beside})
			}
		}
	}
	return append(all, further...), nil
}

// loads returns the name of a library, and the file that the loader takes for it, from a line of the loader's list: NAME => FILE
// (ADDRESS), FILE (ADDRESS), or NAME (ADDRESS) for what the kernel provides. Paths may have spaces.
func loads(line string) (name, file string) {
	line = strings.TrimSpace(line)
	if at := strings.LastIndex(line, " ("); at > 0 {
		line = line[:at]
	}
	name, file, looked := strings.Cut(line, " => ")
	if !looked {
		return name, name
	}
	return name, file
}

// libraries adds all libraries that the loader loads for a program. The loader in the image has no cache, so it looks
// in its built-in directories, where each library is put.
func (b *builder) libraries(program, loader string) error {
	all, err := needs(program, loader)
	for _, l := range all {
		if err == nil {
			err = b.library(l.name, l.file, program)
		}
	}
	return err
}

// Files returns the files of this machine that a program is loaded from: its loader, the program itself, and its
// libraries in the loader's order; only the program if it is linked statically. The error says in one line why they
// cannot be taken elsewhere one by one.
func Files(program string) ([]string, error) {
	b, err := newBuilder()
	if err != nil {
		return nil, err
	}
	o, err := b.open(program)
	if err != nil || o.interp == "" {
		return []string{program}, err
	}
	loader, err := o.loader(program)
	if err != nil {
		return nil, err
	}
	libraries, err := needs(program, loader)
	if err != nil {
		return nil, err
	}
	all, glibc := []string{loader, program}, false
	for _, l := range libraries {
		glibc = glibc || path.Base(l.name) == cLibrary
		if !slices.ContainsFunc(all, func(file string) bool { return same(file, l.file) }) {
			all = append(all, l.file)
		}
	}
	if !glibc {
		return nil, fmt.Errorf("%s is linked to another C library than glibc, whose loader takes libraries from folders only", program)
	}
	return all, nil
}

// library adds a file as a library that a program needs.
func (b *builder) library(name, file, program string) error {
	return b.tree.copy(name, 0o755, file, file+" (for "+program+")")
}

// same reports whether two paths lead to the same file or directory.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
