package nl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// flight bounds the messages on their way, so that neither socket buffer overflows.
const flight = 64

// Do sends the changes to the namespace at path and waits for all answers.
// The error names every change that was refused. When ctx ends, what was not sent yet is not made.
func (b *Batch) Do(ctx context.Context, path string) error {
	if len(b.changes) == 0 {
		return nil
	}
	var fd int
	err := netns.Do(path, func() (err error) {
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return fmt.Errorf("netlink socket: %w", err)
	}
	defer unix.Close(fd)
	// Without this the kernel sends every refused request back in whole.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	changes, errs := resolve(fd, b.changes)
	for begin := 0; begin < len(changes); begin += flight {
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		part := changes[begin:min(begin+flight, len(changes))]
		errs = append(errs, send(fd, part)...)
	}
	return errors.Join(errs...)
}

// indexOffset is where a message has the index of its device: behind the header,
// in ifinfomsg and ifaddrmsg alike.
const indexOffset = unix.NLMSG_HDRLEN + 4

// resolve puts the indexes of devices into the messages and returns the changes
// that can be made. Devices that the batch itself makes cannot be named in it.
func resolve(fd int, changes []change) (known []change, errs []error) {
	indexes := map[string]uint32{}
	for _, c := range changes {
		if c.device == "" {
			known = append(known, c)
			continue
		}
		index, ok := indexes[c.device]
		if !ok {
			req, err := unix.NewIfreq(c.device)
			if err == nil {
				err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: find device: %w", c.what, err))
				continue
			}
			index = req.Uint32()
			indexes[c.device] = index
		}
		binary.NativeEndian.PutUint32(c.msg[indexOffset:], index)
		known = append(known, c)
	}
	return known, errs
}

// send writes messages in one call and collects one answer for each.
func send(fd int, part []change) []error {
	var out []byte
	for i, c := range part {
		binary.NativeEndian.PutUint32(c.msg[8:], uint32(i)) // sequence number
		out = append(out, c.msg...)
		for len(out)%unix.NLMSG_ALIGNTO != 0 {
			out = append(out, 0)
		}
	}
	for {
		err := unix.Sendto(fd, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return []error{os.NewSyscallError("sendto", err)}
		}
		break
	}
	var errs []error
	buf := make([]byte, 64<<10)
	for answered := 0; answered < len(part); {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return append(errs, os.NewSyscallError("recvfrom", err))
		}
		for in := buf[:n]; len(in) >= unix.NLMSG_HDRLEN+4; {
			size := int(binary.NativeEndian.Uint32(in))
			kind := binary.NativeEndian.Uint16(in[4:])
			seq := int(binary.NativeEndian.Uint32(in[8:]))
			if kind == unix.NLMSG_ERROR && seq < len(part) {
				answered++
				if code := int32(binary.NativeEndian.Uint32(in[unix.NLMSG_HDRLEN:])); code != 0 {
					errs = append(errs, fmt.Errorf("%s: %w", part[seq].what, unix.Errno(-code)))
				}
			}
			size = (size + unix.NLMSG_ALIGNTO - 1) &^ (unix.NLMSG_ALIGNTO - 1)
			if size < unix.NLMSG_HDRLEN || size > len(in) {
				break
			}
			in = in[size:]
		}
	}
	return errs
}
