package nl

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/wrap"
	"nettoll/record"
)

// Default returns the prefix of all addresses of a family.
func Default(six bool) netip.Prefix {
	if six {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

// Route adds a route to dst over device, via the gateway if it is valid.
func (n *NS) Route(dst netip.Prefix, via netip.Addr, device string) error {
	r := &netlink.Route{Dst: IPNet(dst)}
	if via.IsValid() {
		r.Gw = via.AsSlice()
	}
	if device != "" {
		l, err := n.Link(device)
		if err != nil {
			return err
		}
		r.LinkIndex = l.Attrs().Index
	}
	return wrap.Error(again(func() error { return n.RouteReplace(r) }), "add route to %s via %s", dst, via)
}

// Lead adds routes to some destinations over device, without a gateway.
func (n *NS) Lead(device string, to ...netip.Prefix) error {
	return record.Try(to, func(dst netip.Prefix) error { return n.Route(dst, netip.Addr{}, device) })
}

// LinkRoute adds a route to a destination on the link of a device, without a gateway.
func (n *NS) LinkRoute(dst netip.Prefix, device string) error {
	return n.change(device, fmt.Sprintf("add route to %s dev %s", dst, device), func(l netlink.Link) error {
		return n.RouteReplace(&netlink.Route{Dst: IPNet(dst), LinkIndex: l.Attrs().Index, Scope: netlink.SCOPE_LINK})
	})
}

// Unroute removes the route to dst. It is not an error if there is none.
func (n *NS) Unroute(dst netip.Prefix) error { return n.unroute(dst, netlink.SCOPE_UNIVERSE) }

// UnlinkRoute removes a route that LinkRoute added. It is not an error if there is none.
func (n *NS) UnlinkRoute(dst netip.Prefix) error { return n.unroute(dst, netlink.SCOPE_LINK) }

func (n *NS) unroute(dst netip.Prefix, scope netlink.Scope) error {
	err := again(func() error { return n.RouteDel(&netlink.Route{Dst: IPNet(dst), Scope: scope}) })
	err = unless(err, unix.ESRCH, unix.ENOENT) // no such route, or no such table
	return wrap.Error(err, "remove route to %s", dst)
}

// routeTo returns the route that packets to an address take.
func (n *NS) routeTo(to netip.Addr) (r netlink.Route, err error) {
	routes, err := ask(func() ([]netlink.Route, error) { return n.RouteGet(to.AsSlice()) })
	switch {
	case err != nil:
		return r, fmt.Errorf("find route to %s: %w", to, err)
	case len(routes) == 0:
		return r, fmt.Errorf("no route to %s", to)
	}
	return routes[0], nil
}

// Toward returns the device through which packets to an address leave.
func (n *NS) Toward(to netip.Addr) (netlink.Link, error) {
	r, err := n.routeTo(to)
	if err != nil {
		return nil, err
	}
	l, err := ask(func() (netlink.Link, error) { return n.LinkByIndex(r.LinkIndex) })
	return l, wrap.Error(err, "find device %d", r.LinkIndex)
}

// RouteMTU returns the MTU in bytes that the route to an address has of its own, as "ip route add ... mtu" gives it; 0 if it has none.
// What the kernel has found out about the path (RFC 1191) is no part of it, except before Linux 4.15.
func (n *NS) RouteMTU(to netip.Addr) (int, error) {
	routes, err := ask(func() ([]netlink.Route, error) {
		return n.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{FIBMatch: true})
	})
	if err != nil || len(routes) == 0 {
		return 0, wrap.Error(err, "find route to %s", to)
	}
	return routes[0].MTU, nil
}

// RouteTo describes where packets to an address are sent.
func (n *NS) RouteTo(to netip.Addr) (string, error) {
	r, err := n.routeTo(to)
	if err != nil {
		return "", err
	}
	return leads(r, n.names()), nil
}

// MainTable returns the routes of the main table.
func (n *NS) MainTable() ([]netlink.Route, error) {
	routes, err := ask(func() ([]netlink.Route, error) {
		return n.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
	})
	return routes, wrap.Error(err, "list routes")
}

// RouteDevices returns the device of each route of the main table that has one.
func (n *NS) RouteDevices() (map[netip.Prefix]string, error) {
	routes, err := n.MainTable()
	names, all := n.names(), map[netip.Prefix]string{}
	for _, r := range routes {
		if r.Dst == nil || r.Type != unix.RTN_UNICAST {
			continue
		}
		if p, err := netip.ParsePrefix(r.Dst.String()); err == nil && names(r.LinkIndex) != "" {
			all[p] = names(r.LinkIndex)
		}
	}
	return all, err
}

// RouteTable describes where every route of the main table leads, by its destination. Routes to
// multicast and link-local addresses are left out.
func (n *NS) RouteTable() (map[string]string, error) {
	routes, err := n.MainTable()
	names, all := n.names(), map[string]string{}
	for _, r := range routes {
		if r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast()) {
			continue
		}
		what := Destination(r.Dst)
		if what == "default" && r.Family == unix.AF_INET6 {
			what = "default (IPv6)"
		}
		if r.Priority != 0 {
			what += fmt.Sprintf(" metric %d", r.Priority)
		}
		all[what] = leads(r, names)
	}
	return all, err
}

// Destination describes what a route leads to.
func Destination(n *net.IPNet) string {
	if n == nil {
		return "default"
	}
	if p, err := netip.ParsePrefix(n.String()); err == nil && p.Bits() == 0 {
		return "default"
	}
	return n.String()
}

// names returns a function that returns the name of a device by its index, and looks each one up only
// once. A device that no longer exists has the name "".
func (n *NS) names() func(index int) string {
	known := map[int]string{}
	return func(index int) string {
		name, ok := known[index]
		if !ok {
			_ = again(func() error {
				l, err := n.LinkByIndex(index)
				if err == nil {
					name = l.Attrs().Name
				}
				return err
			})
			known[index] = name
		}
		return name
	}
}

// leads describes where a route leads. It includes the indexes of devices: a device that was made
// anew may have the same name.
func leads(r netlink.Route, names func(index int) string) string {
	hop := func(gateway net.IP, via netlink.Destination, index int) string {
		var words []string
		if len(gateway) > 0 {
			words = append(words, "via "+gateway.String())
		}
		if via != nil {
			words = append(words, "via "+via.String())
		}
		if index != 0 {
			words = append(words, fmt.Sprintf("dev %s (%d)", names(index), index))
		}
		return strings.Join(words, " ")
	}
	switch r.Type {
	case unix.RTN_UNICAST, unix.RTN_LOCAL:
	default:
		return fmt.Sprintf("nowhere (type %d)", r.Type)
	}
	if len(r.MultiPath) == 0 {
		return hop(r.Gw, r.Via, r.LinkIndex)
	}
	return strings.Join(record.Each(r.MultiPath, func(m *netlink.NexthopInfo) string { return hop(m.Gw, m.Via, m.LinkIndex) }), ", ")
}
