// Package nltest says what is configured in a network namespace, for tests and for the pages of
// networks.
package nltest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
)

// Inventory is everything of a network namespace that is configured, as text:
// devices with their addresses, routes and firewall tables, in a stable order and
// without what differs from build to build (indexes, hardware addresses).
func Inventory(path string) (string, error) {
	var lines []string
	err := nl.With(path, func(n *nl.NS) error {
		devices, err := n.Devices()
		if err != nil {
			return err
		}
		for _, d := range devices {
			lines = append(lines, device(d))
		}
		all, err := routes(n)
		lines = append(lines, all...)
		return err
	})
	if err != nil {
		return "", err
	}
	tables, err := nl.FirewallTables(path)
	if err != nil {
		return "", err
	}
	var names []string
	for _, t := range tables {
		names = append(names, "table "+t.Name)
	}
	slices.Sort(names)
	return strings.Join(append(lines, names...), "\n") + "\n", nil
}

func device(d nl.Device) string {
	s := fmt.Sprintf("device %s (%s) mtu %d", d.Name, d.Kind, d.MTU)
	if d.Master != "" {
		s += " on " + d.Master
	}
	return strings.Join(append([]string{s}, d.Addrs...), " ")
}

// routes are those of the main table, except those to multicast and link-local addresses.
func routes(n *nl.NS) (all []string, err error) {
	var found []netlink.Route
	for {
		found, err = n.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	for _, r := range found {
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
	if n == nil || n.IP.IsUnspecified() {
		return "default"
	}
	return n.String()
}
