package rootfs

import (
	"debug/elf"
	"fmt"
	"io"
)

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
