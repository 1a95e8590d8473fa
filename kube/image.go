package kube

import (
	"archive/tar"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"time"
)

// filesystem is the content of an image, as a tar archive: the same bytes each time.
type filesystem interface{ Stream(io.Writer) error }

// Images of a cluster. There is no registry, and the domain exists nowhere (RFC 2606).
const (
	pauseImage = "nettoll.invalid/pause:1"
	AgentImage = "nettoll.invalid/nettoll:1"
)

// archive writes an image in the form of docker save, which ctr images import reads.
func archive(w io.Writer, name string, root filesystem, entrypoint ...string) error {
	hash, size := sha256.New(), counter(0)
	if err := root.Stream(io.MultiWriter(hash, &size)); err != nil {
		return err
	}
	config, err := json.Marshal(fields{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": fields{"Entrypoint": entrypoint, "Env": []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}},
		"rootfs": fields{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(hash.Sum(nil))}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]fields{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	if err := add(t, "config.json", 0o644, text(config)); err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: "layer.tar", Mode: 0o644, Size: int64(size)}); err != nil {
		return err
	}
	if err := root.Stream(t); err != nil {
		return err
	}
	if err := add(t, "manifest.json", 0o644, text(manifest)); err != nil {
		return err
	}
	return t.Close()
}

type text = []byte

// add writes one file.
func add(t *tar.Writer, name string, mode int64, content []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}

type counter int64

// Write implements io.Writer; it never fails.
func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// pause is the image of the container that holds a pod's namespaces: a program that does nothing.
type pause struct{}

// Stream implements filesystem.
func (pause) Stream(w io.Writer) error {
	program, err := pauseProgram()
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	if err := add(t, pausePath[1:], 0o755, program); err != nil {
		return err
	}
	return t.Close()
}

const pausePath = "/pause"

// pauseCode is machine code that waits for signals for ever, by Go's name of the architecture.
var pauseCode = map[string]struct {
	machine elf.Machine
	code    []byte
}{
	"amd64": {elf.EM_X86_64, []byte{
		0xb8, 0x22, 0, 0, 0, // mov eax, 34: pause(2)
		0x0f, 0x05, // syscall
		0xeb, 0xf7, // jmp to the beginning
	}},
	"arm64": {elf.EM_AARCH64, []byte{
		0x00, 0x00, 0x80, 0xd2, // mov x0, 0
		0x01, 0x00, 0x80, 0xd2, // mov x1, 0
		0x02, 0x00, 0x80, 0xd2, // mov x2, 0
		0x03, 0x00, 0x80, 0xd2, // mov x3, 0
		0x28, 0x09, 0x80, 0xd2, // mov x8, 73: ppoll(2), since arm64 has no pause
		0x01, 0x00, 0x00, 0xd4, // svc 0
		0xfa, 0xff, 0xff, 0x17, // b to the beginning
	}},
}

// Sizes and the place of pauseProgram in memory.
const (
	elfHeader     = 64
	programHeader = 56
	pauseAt       = 0x400000
)

// pauseProgram returns a static program in the ELF format (elf(5)): one segment, which is the whole file.
func pauseProgram() ([]byte, error) {
	m, ok := pauseCode[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("kube: no pause image is known for %s", runtime.GOARCH)
	}
	const begin = elfHeader + programHeader
	size := uint64(begin + len(m.code))
	b, err := binary.Append(nil, binary.LittleEndian, struct {
		elf.Header64
		elf.Prog64
	}{
		elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(m.machine), Version: uint32(elf.EV_CURRENT), Entry: pauseAt + begin,
			Phoff: elfHeader, Ehsize: elfHeader, Phentsize: programHeader, Phnum: 1, // there are no sections
		},
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
			Vaddr: pauseAt, Paddr: pauseAt, Filesz: size, Memsz: size, Align: 0x10000,
		},
	})
	return append(b, m.code...), err
}
