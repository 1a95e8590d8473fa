package nl

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Inventory is everything of a network namespace that is configured, as text:
// devices with their addresses, routes and firewall tables, in a stable order and
// without what differs from build to build (indexes, hardware addresses).
func Inventory(path string) (string, error) {
	var lines []string
	err := With(path, func(n *NS) error {
		devices, err := n.Devices()
		if err != nil {
			return err
		}
		for _, d := range devices {
			lines = append(lines, d.String())
		}
		routes, err := n.Routes()
		lines = append(lines, routes...)
		return err
	})
	if err != nil {
		return "", err
	}
	tables, err := tables(path)
	if err != nil {
		return "", err
	}
	return strings.Join(append(lines, tables...), "\n") + "\n", nil
}

// Device is what is configured of a device.
type Device struct {
	Name, Kind string
	MTU        int
	Master     string
	Addrs      []string
}

func (d Device) String() string {
	s := fmt.Sprintf("device %s (%s) mtu %d", d.Name, d.Kind, d.MTU)
	if d.Master != "" {
		s += " on " + d.Master
	}
	return strings.Join(append([]string{s}, d.Addrs...), " ")
}

// Devices lists the devices by name.
func (n *NS) Devices() ([]Device, error) {
	var links []netlink.Link
	err := again(func() (err error) { links, err = n.LinkList(); return err })
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	var all []Device
	for _, l := range links {
		a := l.Attrs()
		d := Device{Name: a.Name, Kind: l.Type(), MTU: a.MTU, Master: names[a.MasterIndex]}
		var addrs []netlink.Addr
		err := again(func() (err error) { addrs, err = n.AddrList(l, netlink.FAMILY_ALL); return err })
		if err != nil {
			return nil, fmt.Errorf("list addresses of %s: %w", a.Name, err)
		}
		for _, a := range addrs {
			if !a.IP.IsLinkLocalUnicast() {
				d.Addrs = append(d.Addrs, a.IPNet.String())
			}
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Device) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Routes lists the routes of the main table, except those to multicast and
// link-local addresses.
func (n *NS) Routes() ([]string, error) {
	var routes []netlink.Route
	filter := &netlink.Route{Table: unix.RT_TABLE_MAIN}
	err := again(func() (err error) {
		routes, err = n.RouteListFiltered(netlink.FAMILY_ALL, filter, netlink.RT_FILTER_TABLE)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	var all []string
	for _, r := range routes {
		if r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast()) {
			continue
		}
		s := "route " + destination(r.Dst)
		if r.Type == unix.RTN_BLACKHOLE {
			s = "route blackhole " + destination(r.Dst)
		}
		if r.Gw != nil {
			s += " via " + r.Gw.String()
		}
		if l, err := n.LinkByIndex(r.LinkIndex); err == nil {
			s += " dev " + l.Attrs().Name
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return all, nil
}

func destination(n *net.IPNet) string {
	if n == nil {
		return "default"
	}
	if p, err := netip.ParsePrefix(n.String()); err == nil && p.Bits() == 0 {
		return "default"
	}
	return n.String()
}

func tables(path string) (names []string, err error) {
	all, err := FirewallTables(path)
	for _, t := range all {
		names = append(names, "table "+t.Name)
	}
	slices.Sort(names)
	return names, err
}
