// Package nl configures network devices. It is the only package that talks
// route netlink; its subpackage nft talks to netfilter.
package nl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/emulated"
	"nettoll/internal/netns"
)

// NS configures the devices of one network namespace. Close it.
type NS struct {
	*netlink.Handle
	Path string
}

// Open connects to the namespace at path; the empty path is the current one.
func Open(path string) (*NS, error) {
	h, err := connect(path, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink in %s: %w", path, err)
	}
	return &NS{h, path}, nil
}

// answerTime is how long an answer of the kernel is waited for. Another's change of thousands of
// devices can hold it up for seconds.
const answerTime = 15 * time.Second

// connect opens a netlink socket of a family in a namespace.
func connect(path string, family int) (h *netlink.Handle, err error) {
	err = netns.Do(path, func() (err error) {
		h, err = netlink.NewHandle(family)
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, h.SetSocketTimeout(emulated.Patience(answerTime))
}

// With opens the namespace for the time of fn.
func With(path string, fn func(*NS) error) error {
	n, err := Open(path)
	if err != nil {
		return err
	}
	defer n.Close()
	return fn(n)
}

// errNoAnswer is of a kernel that is held up, for instance by others' changes.
var errNoAnswer = errors.New("the kernel gave no answer over netlink in time")

// again repeats a call that a signal or a change of the dumped table interrupted.
func again(fn func() error) error {
	for {
		err := fn()
		if errors.Is(err, unix.EINTR) || errors.Is(err, netlink.ErrDumpInterrupted) {
			continue
		}
		if errors.Is(err, unix.EAGAIN) { // the library's word for a time limit
			return errNoAnswer
		}
		return err
	}
}

// Add creates a device.
func (n *NS) Add(l netlink.Link) error {
	if err := again(func() error { return n.LinkAdd(l) }); err != nil {
		return fmt.Errorf("add %s %s: %w", l.Type(), l.Attrs().Name, err)
	}
	return nil
}

// Link finds a device.
func (n *NS) Link(name string) (netlink.Link, error) {
	var l netlink.Link
	err := again(func() (err error) {
		l, err = n.LinkByName(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find device %s: %w", name, err)
	}
	return l, nil
}

// Remove deletes a device; one that is gone already is no error.
func (n *NS) Remove(name string) error {
	l, err := n.Link(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil {
		err = again(func() error { return n.LinkDel(l) })
	}
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove device %s: %w", name, err)
	}
	return nil
}

// Up sets devices up.
func (n *NS) Up(names ...string) error {
	for _, name := range names {
		l, err := n.Link(name)
		if err != nil {
			return err
		}
		if err := again(func() error { return n.LinkSetUp(l) }); err != nil {
			return fmt.Errorf("set %s up: %w", name, err)
		}
	}
	return nil
}

// Down sets a device down.
func (n *NS) Down(name string) error {
	l, err := n.Link(name)
	if err != nil {
		return err
	}
	if err := again(func() error { return n.LinkSetDown(l) }); err != nil {
		return fmt.Errorf("set %s down: %w", name, err)
	}
	return nil
}

// Addr gives a device an address, without duplicate address detection: the
// addresses of a lab are known to be free. Where the device is up the address can be
// reached when it returns.
func (n *NS) Addr(device string, p netip.Prefix) error {
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	a := &netlink.Addr{IPNet: ipNet(p)}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	if err := again(func() error { return n.AddrReplace(l, a) }); err != nil {
		return fmt.Errorf("add address %s to %s: %w", p, device, err)
	}
	if l.Attrs().RawFlags&unix.IFF_UP == 0 {
		return nil
	}
	return n.Own(context.Background(), p.Addr())
}

// Route adds a route to dst over device, through the gateway where that is valid.
func (n *NS) Route(dst netip.Prefix, via netip.Addr, device string) error {
	r := &netlink.Route{Dst: ipNet(dst)}
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
	if err := again(func() error { return n.RouteReplace(r) }); err != nil {
		return fmt.Errorf("add route to %s via %s: %w", dst, via, err)
	}
	return nil
}

// Master makes device a port of bridge.
func (n *NS) Master(device, bridge string) error {
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	b, err := n.Link(bridge)
	if err != nil {
		return err
	}
	if err := again(func() error { return n.LinkSetMaster(l, b) }); err != nil {
		return fmt.Errorf("add %s to bridge %s: %w", device, bridge, err)
	}
	return nil
}

// AddPair creates a veth pair, one end here and the other, named peer, in the
// namespace at peerPath. Both have the MTU, or the kernel's where it is 0.
func (n *NS) AddPair(name, peerPath, peer string, mtu int) error {
	to, err := os.Open(peerPath)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer to.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = name, mtu
	return n.Add(&netlink.Veth{LinkAttrs: attrs, PeerName: peer, PeerNamespace: netlink.NsFd(to.Fd())})
}

// Default is the prefix of all addresses of a family.
func Default(six bool) netip.Prefix {
	if six {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Unroute removes the route to dst; one that is gone already is no error.
func (n *NS) Unroute(dst netip.Prefix) error {
	err := again(func() error { return n.RouteDel(&netlink.Route{Dst: ipNet(dst)}) })
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENOENT) { // no route, or no table of them
		return fmt.Errorf("remove route to %s: %w", dst, err)
	}
	return nil
}
