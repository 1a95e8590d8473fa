package nl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// tunControl is where TUN devices come from.
const tunControl = "/dev/net/tun"

// TUN makes a TUN device in the current namespace. What is read from the file is one
// packet that the kernel has sent through the device, without link layer and with its
// checksums complete; what is written is one that it receives. The device goes with the
// file.
func TUN(name string) (*os.File, error) {
	fd, err := unix.Open(tunControl, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: tunControl, Err: err}
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("add tun %s: %w", name, err), unix.Close(fd))
	}
	// Only now is it a file that can be waited for.
	return os.NewFile(uintptr(fd), tunControl), nil
}
