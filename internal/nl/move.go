package nl

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// Give moves a device into the namespace at path and calls it name there. It is down
// afterwards and has lost its addresses.
func (n *NS) Give(device, path, name string) error {
	to, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer to.Close()
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	if err := again(func() error { return n.LinkSetNsFd(l, int(to.Fd())) }); err != nil {
		return fmt.Errorf("move %s to another namespace: %w", device, err)
	}
	return With(path, func(there *NS) error {
		l, err := there.Link(device)
		if err != nil {
			return err
		}
		if err := again(func() error { return there.LinkSetName(l, name) }); err != nil {
			return fmt.Errorf("rename %s to %s: %w", device, name, err)
		}
		return nil
	})
}

// Unaddr takes an address from a device; one that it does not have is no error.
func (n *NS) Unaddr(device string, p netip.Prefix) error {
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	err = again(func() error { return n.AddrDel(l, &netlink.Addr{IPNet: ipNet(p)}) })
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("remove address %s from %s: %w", p, device, err)
	}
	return nil
}

// HasFamily says whether the kernel has a family of generic netlink, in the namespace at
// path: nil, or why not. The kernel loads its module, if it can.
func HasFamily(path, name string) error {
	return netns.Do(path, func() error {
		err := again(func() error {
			_, err := netlink.GenlFamilyGet(name)
			return err
		})
		if err != nil {
			return fmt.Errorf("find generic netlink family %s: %w", name, err)
		}
		return nil
	})
}
