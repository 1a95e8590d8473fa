package nl

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// RouteTable says of every route of the main table, by what it is for, where it leads.
// Those to multicast and link-local addresses are left out.
func (n *NS) RouteTable() (map[string]string, error) {
	var routes []netlink.Route
	filter := &netlink.Route{Table: unix.RT_TABLE_MAIN}
	err := again(func() (err error) {
		routes, err = n.RouteListFiltered(netlink.FAMILY_ALL, filter, netlink.RT_FILTER_TABLE)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	names := n.names()
	all := map[string]string{}
	for _, r := range routes {
		if r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast()) {
			continue
		}
		what := destination(r.Dst)
		if what == "default" && r.Family == unix.AF_INET6 {
			what = "default (IPv6)"
		}
		if r.Priority != 0 {
			what += fmt.Sprintf(" metric %d", r.Priority)
		}
		all[what] = leads(r, names)
	}
	return all, nil
}

// RouteTo says where packets to an address are sent.
func (n *NS) RouteTo(to netip.Addr) (string, error) {
	var routes []netlink.Route
	err := again(func() (err error) {
		routes, err = n.RouteGet(to.AsSlice())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("find route to %s: %w", to, err)
	}
	if len(routes) == 0 {
		return "", fmt.Errorf("no route to %s", to)
	}
	return leads(routes[0], n.names()), nil
}

// names finds the names of devices by their indexes, each once. A device that is gone has
// none.
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

// leads says where a route leads to. Devices have their index besides: one that was made
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
	var all []string
	for _, m := range r.MultiPath {
		all = append(all, hop(m.Gw, m.Via, m.LinkIndex))
	}
	return strings.Join(all, ", ")
}
