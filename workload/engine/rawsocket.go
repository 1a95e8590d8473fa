package engine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hungUp is what receive returns at the end of the stream.
const hungUp = syscall.EPIPE

// send gives b to the connection and returns how much of it was taken.
//
//go:nosplit
func send(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// receive takes what has arrived, at most len(b) bytes.
//
//go:nosplit
func receive(fd int, b []byte, flags uintptr) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if n == 0 {
		return 0, hungUp
	}
	return int(n), 0
}

// sendfile gives size bytes of a file to the connection, from *offset, which it
// moves.
//
//go:nosplit
func sendfile(fd, file int, offset *int64, size int) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDFILE, uintptr(fd), uintptr(file),
		uintptr(unsafe.Pointer(offset)), uintptr(size), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
