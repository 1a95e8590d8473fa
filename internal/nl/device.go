package nl

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
)

// Device is what is configured of a device.
type Device struct {
	Name, Kind string
	MTU        int
	Master     string
	Addrs      []string
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

func destination(n *net.IPNet) string {
	if n == nil {
		return "default"
	}
	if p, err := netip.ParsePrefix(n.String()); err == nil && p.Bits() == 0 {
		return "default"
	}
	return n.String()
}
