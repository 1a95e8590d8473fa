package rootfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// byName are libraries that the C library opens by name when a thread is cancelled or a database is read.
// They are added if this machine has them.
var byName = []string{"libgcc_s.so.1", "libnss_files.so.2"}

const cLibrary = "libc.so.6"

// listTime bounds how long a loader may take to find the libraries of a program.
const listTime = 10 * time.Second

// libraries adds all libraries that the loader loads for a program. It asks the loader for them, as
// ldd(1) does. The loader in the image has no cache, so it looks in its built-in directories. Each library
// is put there, under the name by which it is looked up, unless that is a path.
func (b *builder) libraries(program, loader string) error {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	absolute, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, loader, "--list", absolute)
	list.Env = []string{"LC_ALL=C"} // the image has no LD_LIBRARY_PATH
	out, err := list.CombinedOutput()
	if err != nil {
		said := strings.Join(strings.Fields(string(out)), " ")
		return fmt.Errorf("%s needs a library that cannot be loaded on this machine; install the package that has it: %w: %s", program, err, said)
	}
	own := filepath.Dir(loader)
	for line := range bytes.Lines(out) {
		// NAME => FILE (ADDRESS), FILE (ADDRESS), or only the name for a library that the kernel provides
		words := strings.Fields(string(line))
		if len(words) < 2 {
			continue
		}
		name, file := words[0], words[0]
		if words[1] == "=>" && len(words) > 2 {
			file = words[2]
		}
		if file == "not" { // "not found"; other loaders fail
			return fmt.Errorf("%s needs the library %s, which is not on this machine; install the package that has it", program, name)
		}
		if !filepath.IsAbs(file) || same(file, loader) {
			continue
		}
		if !filepath.IsAbs(name) {
			name = path.Join(own, name)
		}
		if err := b.library(name, file, program); err != nil {
			return err
		}
		if path.Base(name) != cLibrary {
			continue
		}
		for _, further := range byName {
			beside := filepath.Join(filepath.Dir(file), further)
			if err := b.library(path.Join(own, further), beside, program); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
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
