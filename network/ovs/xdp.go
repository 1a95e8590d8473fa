package ovs

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"nettoll/platform"
)

// tryXDP makes what every AF_XDP port has: a socket, and a map that leads an XDP program to it. The
// map is for whoever may load such programs.
func tryXDP() error {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return unsupportedXDP(os.NewSyscallError("socket", err))
	}
	defer unix.Close(fd)
	attr := struct{ kind, keySize, valueSize, entries, flags uint32 }{unix.BPF_MAP_TYPE_XSKMAP, 4, 4, 1, 0}
	m, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return unsupportedXDP(os.NewSyscallError("bpf", errno))
	}
	return unix.Close(int(m))
}

func unsupportedXDP(err error) error {
	return &platform.Unsupported{
		Feature: "AF_XDP sockets", Option: "CONFIG_XDP_SOCKETS, and root", Err: err,
		Remedy: "run as root on a kernel that has CONFIG_XDP_SOCKETS; ovs-userspace does without",
	}
}
