package rootfs

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// module is a program or a library that the loader has found.
type module struct {
	*object
	name        string  // as errors call it
	file        string  // on this machine
	here, there string  // the folders that $ORIGIN is, on this machine and in the image
	by          *module // that needed it; nil for the program
}

// byName are libraries that the C library opens by name when a thread is cancelled or
// a database is read, where this machine has them.
var byName = []string{"libgcc_s.so.1", "libnss_files.so.2"}

const cLibrary = "libc.so.6"

// libraries adds all that a program loads, breadth first, as the loader does: the
// first library of a name serves all that need one of that name.
func (b *builder) libraries(program *module, loader string) error {
	s := &search{arch: b.arch, loader: loader, folders: b.configured}
	seen := map[string]bool{}
	for queue := []*module{program}; len(queue) > 0; queue = queue[1:] {
		m := queue[0]
		needed := m.needed
		if m.name == cLibrary {
			needed = slices.Concat(needed, byName)
		}
		for _, name := range needed {
			if seen[name] {
				continue
			}
			seen[name] = true
			found, err := s.find(name, m)
			switch {
			case errors.Is(err, os.ErrNotExist) && m.name == cLibrary && slices.Contains(byName, name):
				continue
			case errors.Is(err, os.ErrNotExist):
				return missing(name, m)
			case err != nil:
				return fmt.Errorf("%s needs the library %s: %w", program.name, name, err)
			case found == nil: // the loader itself
				continue
			}
			place := path.Join(found.there, path.Base(name))
			if err := b.tree.file(place, 0o755, found.content(found.file), found.file+" (for "+program.name+")"); err != nil {
				return err
			}
			queue = append(queue, found)
		}
	}
	return nil
}

// missing says which library is not on this machine, and who needs it.
func missing(name string, m *module) error {
	if m.by != nil {
		name += " (for " + m.name + ")"
	}
	for m.by != nil {
		m = m.by
	}
	return fmt.Errorf("%s needs the library %s, which is not on this machine; install the package that has it", m.name, name)
}

// search looks for libraries as ld.so(8) does.
type search struct {
	arch    arch
	loader  string   // its real path; the folder that it is in is one of its own
	folders []string // of ld.so.conf
}

// place is a folder where a library may be, and where the loader inside looks for it.
type place struct{ here, there string }

// find gives the library that the loader would take. Nil is the loader itself, which
// is a library, too. The error is os.ErrNotExist when there is none.
//
// The loader inside has no cache, so that it looks where it was built to look: in the
// folder that it is in itself. There goes whatever is not found by a path that is
// written in a program or library.
func (s *search) find(name string, m *module) (*module, error) {
	for _, p := range s.places(name, m) {
		file := filepath.Join(p.here, path.Base(name))
		if same(file, s.loader) {
			return nil, nil
		}
		o, err := open(file)
		switch {
		case errors.As(err, new(*fs.PathError)), errors.Is(err, errNotELF):
			continue // not there, or a text that is for linkers
		case err != nil:
			return nil, err
		case o.arch != s.arch:
			continue
		}
		return &module{object: o, name: name, file: file, here: p.here, there: p.there, by: m}, nil
	}
	return nil, os.ErrNotExist
}

// places are the folders where a library may be, the first one first.
func (s *search) places(name string, m *module) (all []place) {
	if end := strings.LastIndexByte(name, '/'); end >= 0 {
		return s.written(nil, m, name[:end+1])
	}
	own := filepath.Dir(s.loader)
	if m.runpath == nil {
		for n := m; n != nil; n = n.by {
			if n.runpath == nil {
				all = s.written(all, n, n.rpath...)
			}
		}
	}
	all = s.written(all, m, m.runpath...)
	for i, p := range all {
		if same(p.here, own) {
			all[i].there = own
		}
	}
	for _, folder := range slices.Concat(s.folders, []string{own, filepath.Join("/usr", own), "/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
		all = append(all, place{folder, own})
	}
	return all
}

// written adds folders that are written in a program or library. Those that are
// relative to wherever the program is started are left out.
func (s *search) written(all []place, m *module, folders ...string) []place {
	for _, folder := range folders {
		if p := (place{s.expand(folder, m.here), s.expand(folder, m.there)}); filepath.IsAbs(p.here) {
			all = append(all, p)
		}
	}
	return all
}

// expand puts in what the loader puts in. Of $LIB it knows what it is called itself.
func (s *search) expand(folder, origin string) string {
	lib := strings.TrimPrefix(strings.TrimPrefix(filepath.Dir(s.loader), "/usr"), "/")
	folder = strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin, "${LIB}", lib, "$LIB", lib).Replace(folder)
	return filepath.Clean(folder)
}

// same is whether two paths lead to one file or folder.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// ldSoConf is where a distribution says where its libraries are.
const ldSoConf = "/etc/ld.so.conf"

// configured gives the folders that a file of configuration names, in order, with
// those of the files that it includes (ldconfig(8)). A file that cannot be read names
// none: musl has no such file.
func configured(file string) []string { return configuredBut(map[string]bool{}, file) }

// configuredBut does not read what was read before.
func configuredBut(read map[string]bool, file string) (folders []string) {
	if read[file] {
		return nil
	}
	read[file] = true
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\r,:", c) })
		if len(words) == 0 || words[0] == "hwcap" {
			continue
		}
		if words[0] != "include" {
			for _, folder := range words {
				folder, _, _ = strings.Cut(folder, "=") // a kind of library, as in /lib=libc6
				folders = append(folders, folder)
			}
			continue
		}
		for _, pattern := range words[1:] {
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(file), pattern)
			}
			included, _ := filepath.Glob(pattern) // no pattern, no file
			for _, name := range included {
				folders = append(folders, configuredBut(read, name)...)
			}
		}
	}
	return folders
}
