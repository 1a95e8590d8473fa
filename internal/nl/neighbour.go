package nl

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Forget takes what the kernel knows of a neighbour, so that it asks for its hardware address
// before it sends to it again. One that it does not know is no error.
func (n *NS) Forget(device string, a netip.Addr) error {
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	err = again(func() error { return n.NeighDel(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: a.AsSlice()}) })
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("forget neighbour %s on %s: %w", a, device, err)
	}
	return nil
}
