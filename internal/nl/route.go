package nl

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// Toward finds the device that packets to an address leave through.
func (n *NS) Toward(to netip.Addr) (netlink.Link, error) {
	var routes []netlink.Route
	err := again(func() (err error) {
		routes, err = n.RouteGet(to.AsSlice())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find route: %w", err)
	}
	if len(routes) == 0 {
		return nil, fmt.Errorf("no route to %s", to)
	}
	var link netlink.Link
	err = again(func() (err error) {
		link, err = n.LinkByIndex(routes[0].LinkIndex)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find device %d: %w", routes[0].LinkIndex, err)
	}
	return link, nil
}

// RootQdisc names the queueing discipline at the root of a device.
func (n *NS) RootQdisc(l netlink.Link) (string, error) {
	var all []netlink.Qdisc
	err := again(func() (err error) {
		all, err = n.QdiscList(l)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("list queueing disciplines of %s: %w", l.Attrs().Name, err)
	}
	for _, q := range all {
		if q.Attrs().Parent == netlink.HANDLE_ROOT {
			return q.Type(), nil
		}
	}
	return "none", nil
}
