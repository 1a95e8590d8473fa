package nl

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// Reset sets a device down, takes its addresses, and gives it an MTU. It is for those
// that the kernel makes by itself and does not remove.
func (n *NS) Reset(device string, mtu int) error {
	if err := n.Down(device); err != nil {
		return err
	}
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	var addrs []netlink.Addr
	err = again(func() (err error) { addrs, err = n.AddrList(l, netlink.FAMILY_ALL); return err })
	if err != nil {
		return fmt.Errorf("list addresses of %s: %w", device, err)
	}
	for _, a := range addrs {
		if err := again(func() error { return n.AddrDel(l, &a) }); err != nil {
			return fmt.Errorf("remove address %s of %s: %w", a.IPNet, device, err)
		}
	}
	if err := again(func() error { return n.LinkSetMTU(l, mtu) }); err != nil {
		return fmt.Errorf("set the MTU of %s: %w", device, err)
	}
	return nil
}
