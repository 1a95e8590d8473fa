package rootfs

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// elfFile is an ELF file as far as loading goes; there is no code in it.
type elfFile struct {
	arch           arch
	library        bool
	interp         string
	needed         []string
	rpath, runpath string
	debug          string // a section behind the segments, with section headers
	payload        string // behind everything
}

// address is where a file is loaded; offsets in the file are smaller by as much.
const address = 0x10000

func (e elfFile) wide() bool { return e.arch.class == elf.ELFCLASS64 }

// sizes are those of the header, of a segment's header and of a section's.
func (e elfFile) sizes() (header, segment, section int) {
	if e.wide() {
		return 64, 56, 64
	}
	return 52, 32, 40
}

func (e elfFile) build() []byte {
	order := binary.AppendByteOrder(binary.LittleEndian)
	if e.arch.data == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	word := func(b []byte, v int) []byte {
		if e.wide() {
			return order.AppendUint64(b, uint64(v))
		}
		return order.AppendUint32(b, uint32(v))
	}
	table := "\x00"
	var dynamic []byte
	dyn := func(tag elf.DynTag, text string) {
		dynamic = word(word(dynamic, int(tag)), len(table))
		table += text + "\x00"
	}
	for _, n := range e.needed {
		dyn(elf.DT_NEEDED, n)
	}
	if e.rpath != "" {
		dyn(elf.DT_RPATH, e.rpath)
	}
	if e.runpath != "" {
		dyn(elf.DT_RUNPATH, e.runpath)
	}
	header, segment, section := e.sizes()
	const segments = 3
	tableAt := header + segments*segment
	interpAt := tableAt + len(table)
	dynamicAt := interpAt + len(e.interp) + 1
	dynamic = word(word(dynamic, int(elf.DT_STRTAB)), address+tableAt)
	dynamic = word(word(dynamic, int(elf.DT_NULL)), 0)
	loaded := dynamicAt + len(dynamic)

	const names = "\x00.debug\x00.names\x00"
	sections, sectionsAt := 0, 0
	if e.debug != "" {
		sections, sectionsAt = 3, loaded+len(e.debug)+len(names)
	}
	kind, entry := elf.ET_EXEC, address
	if e.library {
		kind, entry = elf.ET_DYN, 0
	}
	b := append([]byte(elf.ELFMAG), byte(e.arch.class), byte(e.arch.data), byte(elf.EV_CURRENT))
	b = append(b, make([]byte, elf.EI_NIDENT-len(b))...)
	short := func(all ...int) {
		for _, v := range all {
			b = order.AppendUint16(b, uint16(v))
		}
	}
	long := func(v int) { b = order.AppendUint32(b, uint32(v)) }
	short(int(kind), int(e.arch.machine))
	long(int(elf.EV_CURRENT))
	b = word(word(word(b, entry), header), sectionsAt)
	long(0)
	short(header, segment, segments, section, sections, max(sections-1, 0))

	program := func(t elf.ProgType, at, size int) {
		long(int(t))
		if e.wide() {
			long(int(elf.PF_R))
		}
		b = word(word(word(word(word(b, at), address+at), address+at), size), size)
		if !e.wide() {
			long(int(elf.PF_R))
		}
		b = word(b, 1)
	}
	program(elf.PT_LOAD, 0, loaded)
	if e.interp == "" {
		program(elf.PT_NULL, 0, 0)
	} else {
		program(elf.PT_INTERP, interpAt, len(e.interp)+1)
	}
	program(elf.PT_DYNAMIC, dynamicAt, len(dynamic))
	b = append(append(append(b, table...), e.interp+"\x00"...), dynamic...)
	if sections > 0 {
		b = append(append(b, e.debug...), names...)
		b = append(b, make([]byte, section)...)
		for i, s := range []struct{ kind, at, size int }{
			{int(elf.SHT_PROGBITS), loaded, len(e.debug)},
			{int(elf.SHT_STRTAB), loaded + len(e.debug), len(names)},
		} {
			long(1 + i*len(".debug\x00"))
			long(s.kind)
			b = word(word(word(word(b, 0), 0), s.at), s.size)
			long(0)
			long(0)
			b = word(word(b, 1), 0)
		}
	}
	return append(b, e.payload...)
}

// write makes the file and the folders above it.
func (e elfFile) write(t *testing.T, name ...string) string {
	t.Helper()
	file := filepath.Join(name...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, e.build(), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// native is the architecture of this machine, another one that it does not run.
func native(t testing.TB) (here, other arch) {
	t.Helper()
	self, err := open(selfFile)
	if err != nil {
		t.Fatal(err)
	}
	other = self.arch
	other.machine = elf.EM_SPARC
	return self.arch, other
}

var bothClasses = []arch{
	{elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_X86_64},
	{elf.ELFCLASS64, elf.ELFDATA2MSB, elf.EM_S390},
	{elf.ELFCLASS32, elf.ELFDATA2LSB, elf.EM_ARM},
	{elf.ELFCLASS32, elf.ELFDATA2MSB, elf.EM_PPC},
}

func read(e elfFile) (*object, error) {
	b := e.build()
	return readObject(bytes.NewReader(b), int64(len(b)))
}
