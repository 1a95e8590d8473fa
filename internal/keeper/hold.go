package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Some servers cannot be restricted to a listening address, and bind the wildcard address. They are
// held to given addresses: through a filter of system calls (seccomp_unotify(2)) the kernel asks the
// keeper about each of their bind(2) calls, and the keeper writes the address into the call before
// it continues. This needs no privileges, leaves nothing behind when the program ends, and delays
// no other call. Since Linux 5.5.

// architectures are the architectures of the kernel's system calls (AUDIT_ARCH_…), by Go's names.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	"ppc64le": unix.AUDIT_ARCH_PPC64LE, "s390x": unix.AUDIT_ARCH_S390X, "loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// x32 is the bit of system calls of amd64's x32 binaries, which have other numbers.
const x32 = 0x40000000

// hold makes the kernel ask about the binds of all programs that the calling thread starts from now
// on, and answers until this process ends.
func hold(to []netip.Addr) error {
	fd, err := filter()
	if err != nil {
		return fmt.Errorf("hold the program to %v: %w", to, err)
	}
	go answer(fd, to)
	return nil
}

// CanHold returns an error unless programs can be held to addresses here. It tries a call: before Linux 5.5 the kernel asks, and cannot
// let the call go on.
func CanHold() error {
	tried := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, with its filter
		fd, err := filter()
		if err != nil {
			tried <- err
			return
		}
		go func() {
			defer unix.Close(fd) // what the kernel still asks fails then
			if n, ok := receive(fd); ok {
				respond(fd, n, nil)
			}
		}()
		var nowhere [2]byte // AF_UNSPEC
		_, _, errno := unix.Syscall(unix.SYS_BIND, ^uintptr(0), uintptr(unsafe.Pointer(&nowhere)), unsafe.Sizeof(nowhere))
		if errno != unix.EBADF { // that of the descriptor: the call has gone on
			err = fmt.Errorf("let a call go on that the kernel has asked about (seccomp, since Linux 5.5): %w", errno)
		}
		tried <- err
	}()
	return <-tried
}

// filter installs a filter on the calling thread that asks about bind(2), and returns the
// descriptor on which the kernel asks.
func filter() (fd int, err error) {
	arch, known := architectures[runtime.GOARCH]
	if !known {
		return -1, fmt.Errorf("the system calls of %s are not known", runtime.GOARCH)
	}
	// Offsets in struct seccomp_data: the number of the call, its architecture.
	const callAt, archAt = 0, 4
	load, equal, atLeast, give := uint16(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS), uint16(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K),
		uint16(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K), uint16(unix.BPF_RET|unix.BPF_K)
	program := []unix.SockFilter{
		{Code: load, K: archAt},
		{Code: equal, K: arch, Jf: 3}, // a program for another architecture has other call numbers: it is killed
		{Code: load, K: callAt},
		{Code: atLeast, K: x32, Jt: 1},
		{Code: equal, K: unix.SYS_BIND, Jt: 1, Jf: 2},
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: give, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("set no_new_privs: %w", err)
	}
	whole := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// Without the second flag, older kernels slow such a process down with Spectre mitigations.
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&whole)))
	if errno != 0 {
		return -1, fmt.Errorf("set a filter of system calls (seccomp, with notification): %w", errno)
	}
	return int(r), nil
}

// notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	call       int32
	arch       uint32
	at         uint64
	args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id     uint64
	result int64
	errno  int32
	flags  uint32
}

// answer answers the kernel's questions.
func answer(fd int, to []netip.Addr) {
	for {
		n, ok := receive(fd)
		if !ok {
			return
		}
		respond(fd, n, to)
	}
}

// receive waits for a question. There are no more if ok is false.
func receive(fd int) (n notification, ok bool) {
	for {
		n = notification{}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		if errno == unix.EINTR || errno == unix.ENOENT { // the caller of bind has been interrupted, or killed
			continue
		}
		return n, errno == 0
	}
}

// respond answers a question.
func respond(fd int, n notification, to []netip.Addr) {
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if err := redirect(fd, n, to); err != nil {
		errno := unix.EACCES
		_ = errors.As(err, &errno)
		r.flags, r.errno = 0, -int32(errno)
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	if errno == unix.EINVAL && r.flags != 0 { // a kernel before 5.5 cannot let a call go on; see CanHold
		r.flags, r.errno = 0, -int32(unix.ENOSYS)
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	}
}

// redirect writes an address into a call of bind(2) that uses the wildcard address. The error is
// the result of the call.
func redirect(fd int, n notification, to []netip.Addr) error {
	const most = 128 // bytes: struct sockaddr_storage
	b := make([]byte, min(n.args[2], most))
	m := memoryOf{int(n.pid), uintptr(n.args[1])}
	if err := m.read(b); err != nil {
		return err
	}
	address, ok := addressIn(b)
	if !ok {
		return nil // a netlink socket, or a call that the kernel refuses
	}
	bound, _ := netip.AddrFromSlice(address)
	switch bound = bound.Unmap(); {
	case bound.IsLoopback() || slices.Contains(to, bound):
		return nil
	case !bound.IsUnspecified():
		return unix.EACCES
	}
	i := slices.IndexFunc(to, func(a netip.Addr) bool { return a.BitLen() == 8*len(address) })
	if i < 0 && len(address) == 16 { // an IPv6 socket also accepts IPv4
		i = slices.IndexFunc(to, netip.Addr.Is4)
	}
	if i < 0 {
		return unix.EADDRNOTAVAIL
	}
	a := to[i].As16() // an IPv4 address is at its end
	copy(address, a[len(a)-len(address):])
	// The caller of bind may have been killed, and its number given to another process.
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&n.id))); errno != 0 {
		return errno
	}
	return m.write(b)
}

// addressIn returns the part of a struct sockaddr that is an IP address.
func addressIn(b []byte) (address []byte, ok bool) {
	if len(b) < 2 {
		return nil, false
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET && len(b) >= unix.SizeofSockaddrInet4:
		return b[4:8], true
	case family == unix.AF_INET6 && len(b) >= unix.SizeofSockaddrInet6-4: // without its scope, as in older versions of the struct
		return b[8:24], true
	}
	return nil, false
}

// memoryOf is a location in the memory of a process that waits for an answer. In containers,
// Docker's filter of system calls allows access to it only through a file, /proc/PID/mem.
type memoryOf struct {
	pid int
	at  uintptr
}

func (m memoryOf) read(b []byte) error { return m.access(unix.ProcessVMReadv, (*os.File).ReadAt, b) }

func (m memoryOf) write(b []byte) error { return m.access(unix.ProcessVMWritev, (*os.File).WriteAt, b) }

// access reads or writes: directly, or else through the file.
func (m memoryOf) access(
	atOnce func(pid int, local []unix.Iovec, remote []unix.RemoteIovec, flags uint) (int, error),
	byFile func(f *os.File, b []byte, at int64) (int, error), b []byte,
) error {
	local := []unix.Iovec{{Base: unsafe.SliceData(b)}}
	local[0].SetLen(len(b))
	n, err := atOnce(m.pid, local, []unix.RemoteIovec{{Base: m.at, Len: len(b)}}, 0)
	if err != nil {
		f, err := m.open()
		if err != nil {
			return unix.EACCES
		}
		defer f.Close()
		n, _ = byFile(f, b, int64(m.at)) // fails if it is less than all
	}
	if n != len(b) {
		return unix.EFAULT
	}
	return nil
}

// open opens the file of the memory. If /proc belongs to another PID namespace, its numbers refer
// to other processes.
func (m memoryOf) open() (*os.File, error) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, unix.EACCES
	}
	return os.OpenFile(fmt.Sprintf("/proc/%d/mem", m.pid), os.O_RDWR, 0)
}
