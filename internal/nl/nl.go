// Package nl configures network devices. It is the only package that uses route netlink; its
// subpackage nft uses netfilter.
package nl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/emulated"
	"nettoll/internal/netns"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// NS configures the devices of one network namespace. It must be closed.
type NS struct {
	*netlink.Handle
	Path string
}

// Open connects to the namespace at path; the empty path means the current one.
func Open(path string) (*NS, error) {
	h, err := connect(path, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink in %s: %w", path, err)
	}
	return &NS{h, path}, nil
}

// answerTime bounds the wait for an answer of the kernel. Somebody else's change of thousands of
// devices can delay it for seconds.
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

// With opens the namespace, calls fn, and closes it.
func With(path string, fn func(*NS) error) error {
	n, err := Open(path)
	if err != nil {
		return err
	}
	defer n.Close()
	return fn(n)
}

// Ask is With for a function that finds something out.
func Ask[T any](path string, fn func(*NS) (T, error)) (found T, err error) {
	err = With(path, func(n *NS) error {
		found, err = fn(n)
		return err
	})
	return found, err
}

// errNoAnswer is returned if the kernel is delayed, for instance by changes of others.
var errNoAnswer = errors.New("the kernel gave no answer over netlink in time")

// again repeats a call that was interrupted by a signal or, for a while, by a change of the dumped table.
func again(fn func() error) error {
	for began := time.Now(); ; {
		err := fn()
		switch {
		case errors.Is(err, netlink.ErrDumpInterrupted) && time.Since(began) > emulated.Patience(answerTime):
			return err
		case errors.Is(err, unix.EINTR) || errors.Is(err, netlink.ErrDumpInterrupted):
		case errors.Is(err, unix.EAGAIN): // the library returns this at its time limit
			return errNoAnswer
		default:
			return err
		}
	}
}

// ask repeats a question as again does, and returns its answer.
func ask[T any](question func() (T, error)) (answer T, err error) {
	err = again(func() (err error) {
		answer, err = question()
		return err
	})
	return answer, err
}

// change calls do for a device. Its errors begin with what.
func (n *NS) change(device, what string, do func(netlink.Link) error) error {
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	return wrap.Error(again(func() error { return do(l) }), "%s", what)
}

// unless returns nil for errors which say that the object to be removed does not exist, and all other
// errors unchanged.
func unless(err error, gone ...error) error {
	if slices.ContainsFunc(gone, func(is error) bool { return errors.Is(err, is) }) {
		return nil
	}
	return err
}

// Attrs returns the attributes of a new device. An MTU of 0 means the kernel's default.
func Attrs(name string, mtu int) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name, a.MTU = name, mtu
	return a
}

// Add creates a device.
func (n *NS) Add(l netlink.Link) error {
	return wrap.Error(again(func() error { return n.LinkAdd(l) }), "add %s %s", l.Type(), l.Attrs().Name)
}

// AddPair creates a veth pair: one end here and the other, named peer, in the namespace at peerPath.
// Both have the given MTU, or the kernel's default if it is 0.
func (n *NS) AddPair(name, peerPath, peer string, mtu int) error {
	return n.AddVeth(Attrs(name, mtu), peerPath, peer)
}

// AddVeth creates a veth pair as AddPair does; the end here has the given attributes.
func (n *NS) AddVeth(attrs netlink.LinkAttrs, peerPath, peer string) error {
	return netns.Hold(peerPath, func(fd int) error {
		return n.Add(&netlink.Veth{LinkAttrs: attrs, PeerName: peer, PeerNamespace: netlink.NsFd(fd)})
	})
}

// Netkit returns a pair of netkit devices, which pass on each packet as if a BPF program at them had said so. They carry IP
// packets without Ethernet headers, as is the kernel's default (L3 mode).
func Netkit(attrs, peer netlink.LinkAttrs) netlink.Link {
	l := &netlink.Netkit{
		LinkAttrs: attrs, Mode: netlink.NETKIT_MODE_L3, Scrub: netlink.NETKIT_SCRUB_DEFAULT, PeerScrub: netlink.NETKIT_SCRUB_DEFAULT,
	}
	l.SetPeerAttrs(&peer)
	return l
}

// AddNetkit creates a pair as Netkit describes, as AddPair does with a veth pair.
func (n *NS) AddNetkit(name, peerPath, peer string, mtu int) error {
	return netns.Hold(peerPath, func(fd int) error {
		there := Attrs(peer, mtu)
		there.Namespace = netlink.NsFd(fd)
		return n.Add(Netkit(Attrs(name, mtu), there))
	})
}

// Link returns a device.
func (n *NS) Link(name string) (netlink.Link, error) {
	l, err := ask(func() (netlink.Link, error) { return n.LinkByName(name) })
	return l, wrap.Error(err, "find device %s", name)
}

// Provisional is the name of devices that agents make on a machine, until they get their own. One can be left there if an
// agent is killed in between.
const Provisional = "nettoll-new"

// Remove deletes a device. It is not an error if there is none.
func (n *NS) Remove(name string) error {
	err := n.change(name, "remove device "+name, n.LinkDel)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	return unless(err, unix.ENODEV)
}

// Up brings devices up.
func (n *NS) Up(names ...string) error {
	return record.Try(names, func(name string) error { return n.change(name, fmt.Sprintf("set %s up", name), n.LinkSetUp) })
}

// Down brings a device down.
func (n *NS) Down(name string) error {
	return n.change(name, fmt.Sprintf("set %s down", name), n.LinkSetDown)
}

// Rename renames a device, which must be down.
func (n *NS) Rename(device, name string) error {
	return n.change(device, fmt.Sprintf("rename %s to %s", device, name), func(l netlink.Link) error {
		return n.LinkSetName(l, name)
	})
}

// MTU sets the MTU of a device, in bytes.
func (n *NS) MTU(device string, mtu int) error {
	return n.change(device, fmt.Sprintf("set MTU of %s to %d", device, mtu), func(l netlink.Link) error {
		return n.LinkSetMTU(l, mtu)
	})
}

// Master makes device a port of bridge.
func (n *NS) Master(device, bridge string) error {
	b, err := n.Link(bridge)
	if err != nil {
		return err
	}
	return n.change(device, fmt.Sprintf("add %s to bridge %s", device, bridge), func(l netlink.Link) error {
		return n.LinkSetMaster(l, b)
	})
}

// Isolate prevents a bridge from forwarding between this port and other isolated ones. Ports that are
// tunnels of a full mesh need this: frames that came from one host must not be sent to another, or
// they would circulate.
func (n *NS) Isolate(port string) error {
	return n.change(port, "isolate bridge port "+port, func(l netlink.Link) error { return n.LinkSetIsolated(l, true) })
}

// Give moves a device into the namespace at path and renames it to name. Afterwards it is down and
// has no addresses.
func (n *NS) Give(device, path, name string) error {
	err := netns.Hold(path, func(fd int) error {
		return n.change(device, fmt.Sprintf("move %s to another namespace", device), func(l netlink.Link) error {
			return n.LinkSetNsFd(l, fd)
		})
	})
	if err != nil {
		return err
	}
	return With(path, func(there *NS) error { return there.Rename(device, name) })
}

// UpAs sets a device up, and gives it addresses: see Addr.
func (n *NS) UpAs(device string, all ...netip.Prefix) error {
	if err := n.Up(device); err != nil {
		return err
	}
	return n.Addr(device, all...)
}

// Addr gives a device addresses, without duplicate address detection: the addresses of a lab are known
// to be free. If the device is up, the addresses can be reached when Addr returns.
func (n *NS) Addr(device string, all ...netip.Prefix) error {
	return record.Try(all, func(p netip.Prefix) error { return n.addr(device, p) })
}

func (n *NS) addr(device string, p netip.Prefix) error {
	a := &netlink.Addr{IPNet: IPNet(p)}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	up := false
	err := n.change(device, fmt.Sprintf("add address %s to %s", p, device), func(l netlink.Link) error {
		up = l.Attrs().RawFlags&unix.IFF_UP != 0
		return n.AddrReplace(l, a)
	})
	if err != nil || !up {
		return err
	}
	return n.Own(context.Background(), p.Addr())
}

// Unaddr removes an address from a device. It is not an error if the device does not have it.
func (n *NS) Unaddr(device string, p netip.Prefix) error {
	err := n.change(device, fmt.Sprintf("remove address %s from %s", p, device), func(l netlink.Link) error {
		return n.AddrDel(l, &netlink.Addr{IPNet: IPNet(p)})
	})
	return unless(err, unix.EADDRNOTAVAIL)
}

// Reset brings a device down, removes its addresses and sets its MTU. It is for devices that the kernel
// makes by itself and does not remove.
func (n *NS) Reset(device string, mtu int) error {
	if err := n.Down(device); err != nil {
		return err
	}
	err := n.change(device, "remove addresses of "+device, func(l netlink.Link) error {
		addrs, err := n.AddrList(l, netlink.FAMILY_ALL)
		for _, a := range addrs {
			err = errors.Join(err, n.AddrDel(l, &a))
		}
		return err
	})
	if err != nil {
		return err
	}
	return n.MTU(device, mtu)
}

// Forget removes the kernel's entry of a neighbour, so that the kernel asks for its hardware address
// before it sends to it again. It is not an error if there is no entry.
func (n *NS) Forget(device string, a netip.Addr) error {
	err := n.change(device, fmt.Sprintf("forget neighbour %s on %s", a, device), func(l netlink.Link) error {
		return n.NeighDel(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: a.AsSlice()})
	})
	return unless(err, unix.ENOENT)
}

// IPNet returns a prefix as package net has it.
func IPNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
