package program

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nettoll/record"
	"nettoll/workload"
)

// A program that asks for socket buffers of a size gets smaller ones where the machine does not allow that size, and most
// programs do not report it. So the agents at both ends ask for the same.

type buffersParams struct{ Size int } // bytes

// granted are the sizes of a socket's buffers in bytes: the requested one, or less.
type granted struct{ Send, Receive int }

func buffers(_ context.Context, p buffersParams) (g granted, err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return g, fmt.Errorf("make socket: %w", err)
	}
	defer unix.Close(fd)
	ask := func(option int) (int, error) {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, p.Size); err != nil {
			return 0, fmt.Errorf("ask for a socket buffer of %d bytes: %w", p.Size, err)
		}
		// The kernel doubles the size that it grants, for its own overhead, and has a least one (socket(7)).
		n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option)
		return min(n/2, p.Size), err
	}
	if g.Send, err = ask(unix.SO_SNDBUF); err == nil {
		g.Receive, err = ask(unix.SO_RCVBUF)
	}
	return g, err
}

// narrow notes which socket buffers are smaller than the size that the programs ask for; 0 is none.
func (r *running) narrow(ctx context.Context, size int) error {
	if size == 0 {
		return nil
	}
	for e, a := range r.agents {
		var g granted
		if err := a.Call(ctx, methodBuffers, buffersParams{size}, &g); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		r.warnings = record.AddNew(r.warnings, g.warnings(size)...)
	}
	slices.SortFunc(r.warnings, func(a, b record.Warning) int { return strings.Compare(a.Text, b.Text) })
	return nil
}

// warnings returns one for each buffer that is smaller than requested.
func (g granted) warnings(size int) []record.Warning {
	send := workload.Narrowed("send", "net.core.wmem_max", size, g.Send)
	return append(send, workload.Narrowed("receive", "net.core.rmem_max", size, g.Receive)...)
}
