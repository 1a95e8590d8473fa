package nl

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/wrap"
)

// Address is an address of a device.
type Address struct {
	Device string
	MTU    int // of the device, in bytes
	At     netip.Prefix
}

// Way is how packets are sent to another address.
type Way struct {
	Address            // their source
	Gateway netip.Addr // zero: the other address is on a network of the device
}

// addresses lists all addresses of a device.
func (n *NS) addresses(l netlink.Link) ([]netlink.Addr, error) {
	all, err := ask(func() ([]netlink.Addr, error) { return n.AddrList(l, netlink.FAMILY_ALL) })
	return all, wrap.Error(err, "list addresses of %s", l.Attrs().Name)
}

// Addresses returns the addresses of devices that are up, except those of loopback devices, link-local ones, and those
// that are not in use yet or any more.
func (n *NS) Addresses() (all []Address, err error) {
	return n.inUse(func(a *netlink.LinkAttrs) bool { return a.RawFlags&unix.IFF_LOOPBACK == 0 })
}

// inUse returns the addresses of such devices.
func (n *NS) inUse(of func(*netlink.LinkAttrs) bool) (all []Address, err error) {
	links, err := n.links()
	if err != nil {
		return nil, err
	}
	const unusable = unix.IFA_F_TENTATIVE | unix.IFA_F_DADFAILED | unix.IFA_F_DEPRECATED | unix.IFA_F_TEMPORARY
	for _, l := range links {
		a := l.Attrs()
		if a.RawFlags&unix.IFF_UP == 0 || !of(a) {
			continue
		}
		has, err := n.addresses(l)
		if err != nil {
			return nil, err
		}
		for _, one := range has {
			p, err := netip.ParsePrefix(one.IPNet.String())
			if err != nil || one.Flags&unusable != 0 || p.Addr().IsLinkLocalUnicast() {
				continue
			}
			all = append(all, Address{Device: a.Name, MTU: a.MTU, At: p})
		}
	}
	return all, nil
}

// Way returns how packets to an address are sent.
func (n *NS) Way(to netip.Addr) (w Way, err error) {
	r, err := n.routeTo(to)
	if err != nil {
		return w, err
	}
	if r.Type != unix.RTN_UNICAST {
		return w, fmt.Errorf("packets to %s go nowhere, or to this machine itself", to)
	}
	source, _ := netip.AddrFromSlice(r.Src)
	source = source.Unmap()
	if gateway, ok := netip.AddrFromSlice(r.Gw); ok {
		w.Gateway = gateway.Unmap()
	}
	l, err := ask(func() (netlink.Link, error) { return n.LinkByIndex(r.LinkIndex) })
	if err != nil {
		return w, fmt.Errorf("find device %d: %w", r.LinkIndex, err)
	}
	all, err := n.inUse(func(*netlink.LinkAttrs) bool { return true }) // of lo, too, as where BGP runs on hosts
	if err != nil {
		return w, err
	}
	for _, a := range all {
		if a.At.Addr() == source {
			w.Address = a
		}
	}
	if !w.At.IsValid() {
		return w, fmt.Errorf("packets to %s come from %s, which is not an address of a device", to, source)
	}
	if device := l.Attrs(); w.Device != device.Name { // the source may be an address of another device
		w.Device, w.MTU = device.Name, device.MTU
	}
	return w, nil
}
