package nl

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// Tracked is how many connections connection tracking knows to some ports of an address, of those that Connections has looked at.
type Tracked struct {
	All        int
	Translated int // those whose destination it has translated to another address of those that were asked for
}

// mostTracked is how many connections are looked at: a client that connects all the time leaves a hundred thousand.
const mostTracked = 10_000

// These are of <linux/netfilter/nfnetlink_conntrack.h> and of nf_conntrack_common.h.
const (
	ctaFilter     = 25
	ctaFilterOrig = 1      // flags of the original direction
	filterTo      = 1 << 1 // by the destination's address
	statusDNAT    = 1 << 5 // IPS_DST_NAT
)

// Connections looks for TCP and UDP connections to ports first to last of an address in the connection tracking of the namespace
// at path, and for those of them that it has translated to one of some other addresses. Of IPv4, the kernel lists only those to the
// address (since Linux 5.8). Of IPv6 it lists all: asked for an address, Linux 6.18 lists those to all others. Nothing is kept of what
// it lists.
func Connections(path string, to netip.Addr, first, last int, other []netip.Addr) (t Tracked, err error) {
	req := nl.NewNetlinkRequest(netlink.ConntrackTable<<8|nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: uint8(familyOf(to)), Version: nl.NFNETLINK_V0})
	if to.Is4() {
		tuple := nl.NewRtAttr(unix.NLA_F_NESTED|nl.CTA_TUPLE_ORIG, nil)
		tuple.AddRtAttr(unix.NLA_F_NESTED|nl.CTA_TUPLE_IP, nil).AddRtAttr(nl.CTA_IP_V4_DST, to.AsSlice())
		filter := nl.NewRtAttr(unix.NLA_F_NESTED|ctaFilter, nil)
		filter.AddRtAttr(ctaFilterOrig, nl.Uint32Attr(filterTo))
		req.AddData(tuple)
		req.AddData(filter)
	}
	err = netns.Do(path, func() error {
		return again(func() error {
			t = Tracked{}
			err := req.ExecuteIter(unix.NETLINK_NETFILTER, 0, func(msg []byte) bool {
				c, ok := parseTracked(msg)
				if ok && c.to.Addr() == to && first <= int(c.to.Port()) && int(c.to.Port()) <= last {
					t.All++
					if c.dnat && slices.Contains(other, c.from) {
						t.Translated++
					}
				}
				return t.All < mostTracked
			})
			return unless(err, netlink.ErrDumpInterrupted) // others begin and end meanwhile
		})
	})
	if err != nil {
		return t, fmt.Errorf("list tracked connections: %w", err)
	}
	return t, nil
}

// tracked is a TCP or UDP connection as connection tracking knows it.
type tracked struct {
	to   netip.AddrPort // where its first packet was sent
	from netip.Addr     // where answers come from
	dnat bool           // connection tracking has translated its destination
}

// parseTracked parses a message of ctnetlink. ok is false for connections of other protocols, and for messages that are cut.
func parseTracked(msg []byte) (c tracked, ok bool) {
	const header = 4 // struct nfgenmsg
	msg = msg[min(header, len(msg)):]
	_, c.to, ok = parseTuple(attribute(msg, nl.CTA_TUPLE_ORIG))
	if !ok {
		return c, false
	}
	from, _, ok := parseTuple(attribute(msg, nl.CTA_TUPLE_REPLY))
	status := attribute(msg, nl.CTA_STATUS)
	c.from, c.dnat = from.Addr(), len(status) == 4 && binary.BigEndian.Uint32(status)&statusDNAT != 0
	return c, ok
}

// parseTuple returns the source and the destination of one direction of a connection.
func parseTuple(b []byte) (from, to netip.AddrPort, ok bool) {
	at, proto := attribute(b, nl.CTA_TUPLE_IP), attribute(b, nl.CTA_TUPLE_PROTO)
	if p := attribute(proto, nl.CTA_PROTO_NUM); len(p) != 1 || p[0] != unix.IPPROTO_TCP && p[0] != unix.IPPROTO_UDP {
		return from, to, false
	}
	end := func(kind4, kind6, port uint16) (netip.AddrPort, bool) {
		addr := attribute(at, kind4)
		if addr == nil {
			addr = attribute(at, kind6)
		}
		a, ok := netip.AddrFromSlice(addr)
		p := attribute(proto, port)
		if !ok || len(p) != 2 {
			return netip.AddrPort{}, false
		}
		return netip.AddrPortFrom(a, binary.BigEndian.Uint16(p)), true
	}
	from, okFrom := end(nl.CTA_IP_V4_SRC, nl.CTA_IP_V6_SRC, nl.CTA_PROTO_SRC_PORT)
	to, okTo := end(nl.CTA_IP_V4_DST, nl.CTA_IP_V6_DST, nl.CTA_PROTO_DST_PORT)
	return from, to, okFrom && okTo
}

// attribute returns the first netlink attribute of a kind in a list; nil if there is none. Lists of a million connections are
// parsed, so nothing is allocated.
func attribute(list []byte, kind uint16) []byte {
	const header = 4 // struct nlattr
	for len(list) >= header {
		size := int(binary.NativeEndian.Uint16(list))
		if size < header || size > len(list) {
			return nil
		}
		if binary.NativeEndian.Uint16(list[2:])&nl.NLA_TYPE_MASK == kind {
			return list[header:size]
		}
		list = list[min((size+3)&^3, len(list)):]
	}
	return nil
}
