package nl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nettoll/internal/emulated"
	"nettoll/internal/netns"
)

// Batch is a list of changes to one namespace that are sent to the kernel in order, in few system
// calls. A change that fails does not prevent later ones.
type Batch struct {
	changes []change
}

type change struct {
	what   string
	device string // its index is put into the message; empty: none
	msg    []byte
}

func (b *Batch) add(what, device string, kind, flags int, parts ...nl.NetlinkRequestData) {
	req := nl.NewNetlinkRequest(kind, flags)
	for _, p := range parts {
		req.AddData(p)
	}
	b.changes = append(b.changes, change{what, device, req.Serialize()})
}

const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL

// up returns the beginning of a message that brings a device up.
func up() *nl.IfInfomsg {
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Flags, msg.Change = unix.IFF_UP, unix.IFF_UP
	return msg
}

// familyOf returns the kernel's number of an address's IP version.
func familyOf(a netip.Addr) int {
	if a.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// Veth is a pair of devices, one here and one in another namespace.
type Veth struct {
	Name   string // here
	Master int    // index of the bridge here; 0 means none
	Peer   string // there
	PeerNS int    // open file descriptor of the other namespace
	MTU    int    // of both; 0 means the kernel's default
}

// AddVeth creates a pair and brings the end in this namespace up.
func (b *Batch) AddVeth(v Veth) {
	parts := []nl.NetlinkRequestData{up(), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(v.Name))}
	if v.Master != 0 {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(v.Master))))
	}
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("veth"))
	peer := info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(nl.VETH_INFO_PEER, nil)
	peer.AddChild(nl.NewIfInfomsg(unix.AF_UNSPEC))
	peer.AddRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(v.Peer))
	peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(v.PeerNS)))
	// By default the kernel makes a queue for each CPU, and removes all but one again, each time waiting for all
	// CPUs (veth_init_queues in drivers/net/veth.c). One is used either way.
	for _, queues := range []int{unix.IFLA_NUM_TX_QUEUES, unix.IFLA_NUM_RX_QUEUES} {
		parts = append(parts, nl.NewRtAttr(queues, nl.Uint32Attr(1)))
		peer.AddRtAttr(queues, nl.Uint32Attr(1))
	}
	if v.MTU != 0 {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(v.MTU))))
		peer.AddRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(v.MTU)))
	}
	b.add("add veth "+v.Name, "", unix.RTM_NEWLINK, create, append(parts, info)...)
}

// SetUp brings a device up.
func (b *Batch) SetUp(device string) {
	b.add(fmt.Sprintf("set %s up", device), device, unix.RTM_NEWLINK, 0, up())
}

// AddAddr gives a device an address.
func (b *Batch) AddAddr(device string, p netip.Prefix) {
	a := p.Addr()
	msg := nl.NewIfAddrmsg(familyOf(a))
	msg.Prefixlen = uint8(p.Bits())
	if a.Is6() {
		msg.Flags = unix.IFA_F_NODAD
	}
	b.add(fmt.Sprintf("add address %s to %s", p, device), device, unix.RTM_NEWADDR, create,
		msg, nl.NewRtAttr(unix.IFA_LOCAL, a.AsSlice()), nl.NewRtAttr(unix.IFA_ADDRESS, a.AsSlice()))
}

// AddGateway adds a default route.
func (b *Batch) AddGateway(via netip.Addr) {
	msg := nl.NewRtMsg()
	msg.Family = uint8(familyOf(via))
	b.add(fmt.Sprintf("add default route via %s", via), "", unix.RTM_NEWROUTE, create,
		msg, nl.NewRtAttr(unix.RTA_GATEWAY, via.AsSlice()))
}

// flight bounds the number of unanswered messages, so that neither socket buffer overflows.
const flight = 64

// Do sends the changes to the namespace at path and waits for all answers. The error names every
// change that was refused. When ctx ends, no further changes are sent.
func (b *Batch) Do(ctx context.Context, path string) error {
	if len(b.changes) == 0 {
		return nil
	}
	v, err := b.Visit(ctx, path)
	if err != nil {
		return err
	}
	return v.Close()
}

// Visit is a namespace that a batch has changed. It must be closed.
type Visit struct{ fd int }

// Visit does as Do does, and stays connected to the namespace: a connection takes as long as a few changes.
func (b *Batch) Visit(ctx context.Context, path string) (*Visit, error) {
	var changes []change
	var errs []error
	v := &Visit{-1}
	err := netns.Do(path, func() (err error) {
		changes, errs = resolve(b.changes)
		v.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	wait := unix.NsecToTimeval(int64(emulated.Patience(answerTime)))
	if err := unix.SetsockoptTimeval(v.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return nil, errors.Join(fmt.Errorf("netlink socket: %w", err), v.Close())
	}
	// Without this option the kernel returns every refused request in full.
	_ = unix.SetsockoptInt(v.fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	for part := range slices.Chunk(changes, flight) {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		errs = append(errs, v.exchange(part, func(syscall.NetlinkMessage) {})...)
	}
	if len(errs) > 0 {
		v.Close()
		return nil, errors.Join(errs...)
	}
	return v, nil
}

// Close ends the connection.
func (v *Visit) Close() error { return os.NewSyscallError("close", unix.Close(v.fd)) }

// Own waits as NS.Own does.
func (v *Visit) Own(ctx context.Context, addrs ...netip.Addr) error {
	return own(ctx, addrs, v.routeType)
}

// routeType returns the type of the route that packets to an address take.
func (v *Visit) routeType(to netip.Addr) (kind uint8, err error) {
	msg := &nl.RtMsg{}
	msg.Family, msg.Dst_len = uint8(familyOf(to)), uint8(to.BitLen())
	var b Batch
	b.add(fmt.Sprintf("find route to %s", to), "", unix.RTM_GETROUTE, 0, msg, nl.NewRtAttr(unix.RTA_DST, to.AsSlice()))
	errs := v.exchange(b.changes, func(a syscall.NetlinkMessage) {
		if a.Header.Type == unix.RTM_NEWROUTE && len(a.Data) >= unix.SizeofRtMsg {
			kind = nl.DeserializeRtMsg(a.Data).Type
		}
	})
	return kind, errors.Join(errs...)
}

// flagsOffset and sequenceOffset are the offsets of a message's flags and sequence number. indexOffset is that of its device index,
// which is at the same place after the header in ifinfomsg and ifaddrmsg.
const (
	flagsOffset    = 6
	sequenceOffset = 8
	indexOffset    = unix.NLMSG_HDRLEN + 4
)

// resolve puts the indexes of devices into the messages and returns the changes that can be made.
// Devices that the batch itself makes cannot be named in it.
func resolve(changes []change) (known []change, errs []error) {
	indexes := map[string]uint32{}
	for _, c := range changes {
		if c.device != "" {
			index, ok := indexes[c.device]
			if !ok {
				var err error
				if index, err = indexOf(c.device); err != nil {
					errs = append(errs, fmt.Errorf("%s: find device: %w", c.what, err))
					continue
				}
				indexes[c.device] = index
			}
			binary.NativeEndian.PutUint32(c.msg[indexOffset:], index)
		}
		known = append(known, c)
	}
	return known, errs
}

// exchange writes messages in one call and collects the errors that are their answers. Only the last one is
// acknowledged. other is called for other answers. It uses a plain socket: with one that Go's scheduler waits for,
// configuring many containers with a few changes each takes twice as long.
func (v *Visit) exchange(part []change, other func(syscall.NetlinkMessage)) (errs []error) {
	last := len(part) - 1
	var out []byte
	for i, c := range part {
		binary.NativeEndian.PutUint32(c.msg[sequenceOffset:], uint32(i))
		if i == last {
			flags := binary.NativeEndian.Uint16(c.msg[flagsOffset:])
			binary.NativeEndian.PutUint16(c.msg[flagsOffset:], flags|unix.NLM_F_ACK)
		}
		out = append(out, c.msg...)
		out = append(out, make([]byte, -len(out)&(unix.NLMSG_ALIGNTO-1))...)
	}
	if err := again(func() error { return unix.Sendto(v.fd, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) }); err != nil {
		return []error{os.NewSyscallError("sendto", err)}
	}
	var buffer [4096]byte // every answer is a message of its own, and small
	for {
		var n int
		err := again(func() (err error) {
			n, _, err = unix.Recvfrom(v.fd, buffer[:], 0)
			return err
		})
		if err != nil {
			return append(errs, os.NewSyscallError("recvfrom", err))
		}
		answers, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			return append(errs, err)
		}
		for _, a := range answers {
			if a.Header.Type != unix.NLMSG_ERROR || int(a.Header.Seq) > last || len(a.Data) < 4 {
				other(a)
				continue
			}
			if code := int32(binary.NativeEndian.Uint32(a.Data)); code != 0 {
				errs = append(errs, fmt.Errorf("%s: %w", part[a.Header.Seq].what, unix.Errno(-code)))
			}
			if int(a.Header.Seq) == last {
				return errs
			}
		}
	}
}
