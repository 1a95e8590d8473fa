package nl

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Batch is a list of changes to one namespace that go to the kernel in few
// system calls, in order. A change that fails does not stop those after it.
type Batch struct {
	changes []change
}

type change struct {
	what   string
	device string // whose index goes into the message; empty is none
	msg    []byte
}

func (b *Batch) add(what, device string, req *nl.NetlinkRequest) {
	b.changes = append(b.changes, change{what, device, req.Serialize()})
}

const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL

// Veth is a pair of devices, one here and one in another namespace.
type Veth struct {
	Name   string // here
	Master int    // index of the bridge here; 0 is none
	Peer   string // there
	PeerNS int    // open file descriptor of the other namespace
	MTU    int    // of both; 0 is the kernel's
}

// AddVeth creates a pair; the end that is here comes up.
func (b *Batch) AddVeth(v Veth) {
	req := nl.NewNetlinkRequest(unix.RTM_NEWLINK, create|unix.NLM_F_ACK)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Flags, msg.Change = unix.IFF_UP, unix.IFF_UP
	req.AddData(msg)
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(v.Name)))
	if v.Master != 0 {
		req.AddData(nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(v.Master))))
	}
	if v.MTU != 0 {
		req.AddData(nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(v.MTU))))
	}
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("veth"))
	peer := info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(nl.VETH_INFO_PEER, nil)
	peer.AddChild(nl.NewIfInfomsg(unix.AF_UNSPEC))
	peer.AddRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(v.Peer))
	peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(v.PeerNS)))
	if v.MTU != 0 {
		peer.AddRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(v.MTU)))
	}
	req.AddData(info)
	b.add("add veth "+v.Name, "", req)
}

// SetUp sets a device up.
func (b *Batch) SetUp(device string) {
	req := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Flags, msg.Change = unix.IFF_UP, unix.IFF_UP
	req.AddData(msg)
	b.add(fmt.Sprintf("set %s up", device), device, req)
}

// AddAddr gives a device an address.
func (b *Batch) AddAddr(device string, p netip.Prefix) {
	family := unix.AF_INET
	if p.Addr().Is6() {
		family = unix.AF_INET6
	}
	req := nl.NewNetlinkRequest(unix.RTM_NEWADDR, create|unix.NLM_F_ACK)
	msg := nl.NewIfAddrmsg(family)
	msg.Prefixlen = uint8(p.Bits())
	if p.Addr().Is6() {
		msg.Flags = unix.IFA_F_NODAD
	}
	req.AddData(msg)
	req.AddData(nl.NewRtAttr(unix.IFA_LOCAL, p.Addr().AsSlice()))
	req.AddData(nl.NewRtAttr(unix.IFA_ADDRESS, p.Addr().AsSlice()))
	b.add(fmt.Sprintf("add address %s to %s", p, device), device, req)
}

// AddGateway adds a default route.
func (b *Batch) AddGateway(via netip.Addr) {
	family := unix.AF_INET
	if via.Is6() {
		family = unix.AF_INET6
	}
	req := nl.NewNetlinkRequest(unix.RTM_NEWROUTE, create|unix.NLM_F_ACK)
	msg := nl.NewRtMsg()
	msg.Family = uint8(family)
	req.AddData(msg)
	req.AddData(nl.NewRtAttr(unix.RTA_GATEWAY, via.AsSlice()))
	b.add(fmt.Sprintf("add default route via %s", via), "", req)
}
