package nl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// packetBuffer is the size of the receive buffer in bytes; the kernel grants at most its
// net.core.rmem_max.
const packetBuffer = 4 << 20

// Packet opens a device of the current namespace for whole frames. Each read returns a frame that the
// device has received, whoever it is for. Each write sends a frame; it goes directly to the driver,
// bypassing queueing discipline and taps.
func Packet(device string) (*os.File, error) {
	// Without a protocol the socket receives nothing until it is bound.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	if err := tap(fd, device); err != nil {
		return nil, errors.Join(fmt.Errorf("packet socket on %s: %w", device, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "packet socket on "+device), nil
}

func tap(fd int, device string) error {
	index, err := indexOf(device)
	if err != nil {
		return err
	}
	options := []struct{ level, name, value int }{
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1}, // frames that it writes must not be read again
		{unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1},
		{unix.SOL_SOCKET, unix.SO_RCVBUF, packetBuffer},
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return fmt.Errorf("set option %d: %w", o.name, err)
		}
	}
	everyone := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &everyone); err != nil {
		return fmt.Errorf("receive all frames: %w", err)
	}
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: network(unix.ETH_P_ALL), Ifindex: int(index)})
}

// network returns a number in network byte order.
func network(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

// tunControl is the file that creates TUN devices.
const tunControl = "/dev/net/tun"

// TUN makes a TUN device in the current namespace. Each read from the file returns a packet that the
// kernel has sent through the device, without link layer and with its checksums complete; each write
// is a packet that the device receives. The device disappears when the file is closed.
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
	// Go's runtime can wait for the file only now that the device is made.
	return os.NewFile(uintptr(fd), tunControl), nil
}
