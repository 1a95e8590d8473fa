package rootfs

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// errNotELF is the error for a file that is not in ELF format.
var errNotELF = errors.New("is not an ELF file")

// object holds the properties of an ELF file that matter for loading it.
type object struct {
	arch   arch
	interp string // PT_INTERP: the loader; empty if the file is linked statically
	entry  bool   // it has an entry point
}

// arch is the architecture, which programs and their libraries share.
type arch struct {
	class   elf.Class
	data    elf.Data
	machine elf.Machine
}

func (a arch) String() string {
	text := strings.TrimPrefix(a.machine.String(), "EM_")
	if a.machine == elf.EM_X86_64 && a.class == elf.ELFCLASS32 {
		text += " (x32)"
	}
	return text
}

// open reads a file of this machine. It returns errNotELF if the file is not in ELF format.
func open(path string) (*object, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	o, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return o, nil
}

// read reads the properties of a file.
func read(r io.ReaderAt) (*object, error) {
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := r.ReadAt(magic, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if string(magic) != elf.ELFMAG {
		return nil, errNotELF
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("is a broken ELF file: %w", err)
	}
	o := &object{arch: arch{f.Class, f.Data, f.Machine}}
	o.entry = (f.Type == elf.ET_EXEC || f.Type == elf.ET_DYN) && f.Entry != 0
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(p.Open(), maxPath))
		if err != nil {
			return nil, fmt.Errorf("read the name of its loader: %w", err)
		}
		o.interp, _, _ = strings.Cut(string(b), "\x00")
	}
	return o, nil
}

// maxPath bounds the name of a loader, in bytes (PATH_MAX).
const maxPath = 4096
