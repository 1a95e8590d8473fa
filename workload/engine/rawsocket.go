package engine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hungUp is the error that receive returns at the end of the stream.
const hungUp = syscall.EPIPE

// send sends b on the connection and returns how many bytes were taken.
//
//go:nosplit
func send(fd int, b []byte) (int, syscall.Errno) {
	return counted(syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0))
}

// counted returns how many there were according to a system call, or its error.
//
//go:nosplit
func counted(n, _ uintptr, errno syscall.Errno) (int, syscall.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// receive reads data that has arrived, at most len(b) bytes.
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

// sendfile sends size bytes of a file on the connection, starting at *offset, which it advances.
//
//go:nosplit
func sendfile(fd, file int, offset *int64, size int) (int, syscall.Errno) {
	return counted(syscall.RawSyscall6(unix.SYS_SENDFILE, uintptr(fd), uintptr(file),
		uintptr(unsafe.Pointer(offset)), uintptr(size), 0, 0))
}

// sendMessages sends datagrams and returns how many were taken. An error concerns the first one.
//
//go:nosplit
func sendMessages(fd int, messages []unix.Mmsghdr) (int, syscall.Errno) {
	return counted(syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(messages))), uintptr(len(messages)), unix.MSG_NOSIGNAL, 0, 0))
}

// receiveMessages waits for a datagram and reads it and any others that have arrived after it.
//
//go:nosplit
func receiveMessages(fd int, messages []unix.Mmsghdr) (int, syscall.Errno) {
	return counted(syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(messages))), uintptr(len(messages)), unix.MSG_WAITFORONE, 0, 0))
}

// poll waits until one of the sockets is ready, for at most the given number of nanoseconds. A
// negative descriptor is left out.
//
//go:nosplit
func poll(sockets []unix.PollFd, wait int64) syscall.Errno {
	ts := unix.NsecToTimespec(max(0, wait))
	_, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(sockets))), uintptr(len(sockets)),
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return errno
}

// System calls that make and end a connection.

//go:nosplit
func streamSocket(domain uintptr) (int, syscall.Errno) {
	fd, _, errno := syscall.RawSyscall(unix.SYS_SOCKET, domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), 0
}

//go:nosplit
func setOption(fd int, level, name uintptr, value []byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), level, name,
		uintptr(unsafe.Pointer(unsafe.SliceData(value))), uintptr(len(value)), 0)
	return errno
}

//go:nosplit
func connect(fd int, to []byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(to))), uintptr(len(to)))
	return errno
}

//go:nosplit
func accept(listener int) (int, syscall.Errno) {
	fd, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), 0, 0, unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), 0
}

//go:nosplit
func closeSocket(fd int) { syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }
