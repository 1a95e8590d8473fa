package rootfs

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// errNotELF is the error of a file that is no ELF file at all.
var errNotELF = errors.New("is not an ELF file")

// object is what loading an ELF file takes.
type object struct {
	arch    arch
	interp  string // PT_INTERP: the loader; empty for what is linked statically
	entry   bool   // something can be started
	needed  []string
	rpath   []string // unexpanded; ld.so ignores it where there is a runpath
	runpath []string

	head []byte // the ELF header as the image has it
	size int64  // bytes that the image has of the file
}

// arch is what programs and their libraries have in common.
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

// maxDynamic bounds the dynamic section, in bytes; libraries have some hundreds.
const maxDynamic = 1 << 20

// readObject reads from an ELF file of so many bytes what loading it takes. The error
// is errNotELF when it is none.
func readObject(r io.ReaderAt, size int64) (*object, error) {
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
		switch p.Type {
		case elf.PT_INTERP:
			b, err := io.ReadAll(io.LimitReader(p.Open(), maxString))
			if err != nil {
				return nil, fmt.Errorf("read the name of its loader: %w", err)
			}
			o.interp, _, _ = strings.Cut(string(b), "\x00")
		case elf.PT_DYNAMIC:
			if err := o.readDynamic(f, p); err != nil {
				return nil, fmt.Errorf("read its dynamic section: %w", err)
			}
		}
	}
	return o, o.strip(f, r, size)
}

// readDynamic finds the section by its segment, since programs can do without section
// headers; those of images do.
func (o *object) readDynamic(f *elf.File, p *elf.Prog) error {
	b, err := io.ReadAll(io.LimitReader(p.Open(), maxDynamic))
	if err != nil {
		return err
	}
	word, width := f.ByteOrder.Uint64, 8
	if f.Class == elf.ELFCLASS32 {
		word, width = func(b []byte) uint64 { return uint64(f.ByteOrder.Uint32(b)) }, 4
	}
	var table uint64
	offsets := map[elf.DynTag][]uint64{}
	for ; len(b) >= 2*width; b = b[2*width:] {
		tag, value := elf.DynTag(word(b)), word(b[width:])
		if tag == elf.DT_NULL {
			break
		}
		switch tag {
		case elf.DT_STRTAB:
			table = value
		case elf.DT_NEEDED, elf.DT_RPATH, elf.DT_RUNPATH:
			offsets[tag] = append(offsets[tag], value)
		}
	}
	for tag, all := range offsets {
		for _, offset := range all {
			text, err := stringAt(f, table+offset)
			if err != nil {
				return fmt.Errorf("%v: %w", tag, err)
			}
			switch tag {
			case elf.DT_NEEDED:
				o.needed = append(o.needed, text)
			case elf.DT_RPATH:
				o.rpath = strings.Split(text, ":")
			case elf.DT_RUNPATH:
				o.runpath = strings.Split(text, ":")
			}
		}
	}
	return nil
}

// maxString bounds a name, in bytes; a RUNPATH has several.
const maxString = 64 << 10

// stringAt reads a string by the address that it would be loaded at.
func stringAt(f *elf.File, address uint64) (string, error) {
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || address < p.Vaddr || address-p.Vaddr >= p.Filesz {
			continue
		}
		offset := address - p.Vaddr
		b, err := io.ReadAll(io.NewSectionReader(p, int64(offset), int64(min(p.Filesz-offset, maxString))))
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return string(b[:end]), nil
		}
		return "", errors.New("a name does not end")
	}
	return "", fmt.Errorf("no segment is loaded at %#x", address)
}

// open reads a file of this machine.
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
	o, err := readObject(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return o, nil
}

// layout says where an ELF header has the fields that lead to the tables of segments
// and sections, as offsets in bytes (elf(5)).
type layout struct {
	size, word       int // of the header, and of an offset in it
	phoff, phentsize int
	shoff, shentsize int
	shnum, shstrndx  int
}

// short is the size of a count in an ELF header, in bytes.
const short = 2

var (
	layout32 = layout{size: 0x34, word: 4, phoff: 0x1c, phentsize: 0x2a, shoff: 0x20, shentsize: 0x2e, shnum: 0x30, shstrndx: 0x32}
	layout64 = layout{size: 0x40, word: 8, phoff: 0x20, phentsize: 0x36, shoff: 0x28, shentsize: 0x3a, shnum: 0x3c, shstrndx: 0x3e}
)

// strip decides how much of the file goes into an image: up to the end of its last
// segment. What follows, symbols, debugging information and the section headers, is
// never loaded; in a Go program that was built without flags it is a quarter of the
// file. A file that goes on behind its sections carries data that it reads by itself,
// and is left whole.
func (o *object) strip(f *elf.File, r io.ReaderAt, size int64) error {
	l := layout64
	if f.Class == elf.ELFCLASS32 {
		l = layout32
	}
	head := make([]byte, l.size)
	if _, err := r.ReadAt(head, 0); err != nil {
		return fmt.Errorf("is a broken ELF file: %w", err)
	}
	field := func(at, width int) uint64 {
		switch b := head[at : at+width]; width {
		case 2:
			return uint64(f.ByteOrder.Uint16(b))
		case 4:
			return uint64(f.ByteOrder.Uint32(b))
		default:
			return f.ByteOrder.Uint64(b)
		}
	}
	loaded := max(uint64(l.size), field(l.phoff, l.word)+field(l.phentsize, short)*uint64(len(f.Progs)))
	for _, p := range f.Progs {
		end := p.Off + p.Filesz
		if p.Filesz > 0 && (end < p.Off || end > uint64(size)) {
			return fmt.Errorf("is cut off: it has %d bytes of at least %d", size, end)
		}
		loaded = max(loaded, end)
	}
	known := max(loaded, field(l.shoff, l.word)+field(l.shentsize, short)*uint64(len(f.Sections)))
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS {
			known = max(known, s.Offset+s.FileSize)
		}
	}
	o.size, o.head = size, head
	if uint64(size) > known || loaded >= uint64(size) {
		return nil
	}
	o.size = int64(loaded)
	clear(head[l.shoff : l.shoff+l.word])
	clear(head[l.shnum : l.shnum+short])
	clear(head[l.shstrndx : l.shstrndx+short])
	return nil
}
