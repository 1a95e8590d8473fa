package nl

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// LinkRoute adds a route to what is on the link behind a device, without a gateway.
func (n *NS) LinkRoute(dst netip.Prefix, device string) error {
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	r := &netlink.Route{Dst: ipNet(dst), LinkIndex: l.Attrs().Index, Scope: netlink.SCOPE_LINK}
	if err := again(func() error { return n.RouteReplace(r) }); err != nil {
		return fmt.Errorf("add route to %s dev %s: %w", dst, device, err)
	}
	return nil
}

// UnlinkRoute removes what LinkRoute added; what is gone already is no error.
func (n *NS) UnlinkRoute(dst netip.Prefix) error {
	r := &netlink.Route{Dst: ipNet(dst), Scope: netlink.SCOPE_LINK}
	err := again(func() error { return n.RouteDel(r) })
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("remove route to %s: %w", dst, err)
	}
	return nil
}

// RouteDevices names the device of each route of the main table that leads to one.
func (n *NS) RouteDevices() (map[netip.Prefix]string, error) {
	devices, err := n.Interfaces()
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, d := range devices {
		names[d.Index] = d.Name
	}
	var routes []netlink.Route
	filter := &netlink.Route{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST}
	err = again(func() (err error) {
		routes, err = n.RouteListFiltered(netlink.FAMILY_ALL, filter, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_TYPE)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	all := map[netip.Prefix]string{}
	for _, r := range routes {
		if r.Dst == nil {
			continue
		}
		if p, err := netip.ParsePrefix(r.Dst.String()); err == nil && names[r.LinkIndex] != "" {
			all[p] = names[r.LinkIndex]
		}
	}
	return all, nil
}
