package nl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// packetBuffer is how much may wait to be read, in bytes; the kernel grants at most its
// net.core.rmem_max.
const packetBuffer = 4 << 20

// Packet opens a device of the current namespace for whole frames. What is read is one
// that the device has received, whoever it is for; what is written is one that it sends.
// It goes to the driver at once, past queueing discipline and taps.
func Packet(device string) (*os.File, error) {
	// Without a protocol it receives nothing until it is bound.
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
	req, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req); err != nil {
		return err
	}
	index := int(req.Uint32())
	options := []struct{ level, name, value int }{
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1}, // what it writes is not to be read again
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
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: network(unix.ETH_P_ALL), Ifindex: index})
}

// network is a number in the byte order of networks.
func network(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}
