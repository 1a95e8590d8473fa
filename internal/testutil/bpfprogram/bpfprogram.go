// Package bpfprogram loads BPF programs that do nothing.
package bpfprogram

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Load loads a program of a type (unix.BPF_PROG_TYPE_…) that returns a value, under a name of at most 15 characters, and returns
// its file descriptor. The test skips if it may not do that.
func Load(t *testing.T, kind uint32, name string, returns int32) (fd int) {
	t.Helper()
	type instruction struct {
		code, registers byte
		offset          int16
		value           int32
	}
	const move, exit = 0xb7, 0x95 // to register 0
	text, license := []instruction{{code: move, value: returns}, {code: exit}}, []byte("GPL\x00")
	var pinned runtime.Pinner // the addresses are in numbers
	defer pinned.Unpin()
	pinned.Pin(&text[0])
	pinned.Pin(&license[0])
	attr := struct {
		kind, count       uint32
		text, license     uint64
		logLevel, logSize uint32
		log               uint64
		version, flags    uint32
		name              [16]byte
	}{
		kind: kind, count: uint32(len(text)), text: uint64(uintptr(unsafe.Pointer(&text[0]))), license: uint64(uintptr(unsafe.Pointer(&license[0]))),
	}
	copy(attr.name[:15], name)
	r, _, code := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errors.Is(code, unix.EPERM) || errors.Is(code, unix.ENOSYS) {
		t.Skipf("load a BPF program: %v", code)
	}
	if code != 0 {
		t.Fatalf("load a BPF program: %v", code)
	}
	t.Cleanup(func() { unix.Close(int(r)) })
	return int(r)
}
