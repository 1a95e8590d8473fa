package nl_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	raw "github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

// TestConnections checks which connections are found, and which of them count as translated.
func TestConnections(t *testing.T) {
	ns := namespaces(t, 1)[0]
	for _, a := range [][5]string{
		{"198.19.0.1", "198.19.0.2", "198.19.0.3", "198.19.0.4", "198.19.0.5"},
		{"2001:2::1", "2001:2::2", "2001:2::3", "2001:2::4", "2001:2::5"},
	} {
		var addrs [5]netip.Addr
		for i, text := range a {
			addrs[i] = netip.MustParseAddr(text)
		}
		client, dialled, server, other, third := addrs[0], addrs[1], addrs[2], addrs[3], addrs[4]
		family := netlink.InetFamily(unix.AF_INET)
		if client.Is6() {
			family = unix.AF_INET6
		}
		known := []struct {
			protocol uint8
			to, at   netip.Addr // where the first packet was sent, and, if it is translated, where it arrives
			port     uint16
		}{
			{unix.IPPROTO_TCP, dialled, server, 20001}, {unix.IPPROTO_UDP, dialled, server, 20008},
			{unix.IPPROTO_TCP, dialled, dialled, 20003},                                            // not translated
			{unix.IPPROTO_TCP, dialled, third, 20005},                                              // to somebody else
			{unix.IPPROTO_TCP, dialled, server, 20000}, {unix.IPPROTO_TCP, dialled, server, 20009}, // other ports
			{unix.IPPROTO_TCP, other, server, 20001}, {unix.IPPROTO_TCP, server, server, 20001}, // other addresses
		}
		err := netns.Do(ns, func() error {
			for i, k := range known {
				flow := &netlink.ConntrackFlow{
					FamilyType: uint8(family), TimeOut: 100,
					Forward: netlink.IPTuple{SrcIP: client.AsSlice(), DstIP: k.to.AsSlice(), Protocol: k.protocol, SrcPort: uint16(5000 + i), DstPort: k.port},
					Reverse: netlink.IPTuple{SrcIP: k.to.AsSlice(), DstIP: client.AsSlice(), Protocol: k.protocol, SrcPort: k.port, DstPort: uint16(5000 + i)},
				}
				if k.protocol == unix.IPPROTO_TCP {
					flow.ProtoInfo = &netlink.ProtoInfoTCP{State: 3} // established
				}
				if err := track(flow, k.to, k.at); err != nil {
					return err
				}
			}
			return nil
		})
		iferr.Fatal(t, err)
		got, err := nl.Connections(ns, dialled, 20001, 20008, []netip.Addr{server})
		iferr.Fatal(t, err)
		if want := (nl.Tracked{All: 4, Translated: 2}); got != want {
			t.Errorf("of connections to %v: %+v, want %+v", dialled, got, want)
		}
	}
}

// track makes an entry of connection tracking, with a destination that is translated unless at is the same as to.
func track(flow *netlink.ConntrackFlow, to, at netip.Addr) error {
	if at == to {
		return netlink.ConntrackCreate(netlink.ConntrackTable, netlink.InetFamily(flow.FamilyType), flow)
	}
	const (
		tupleOrig, tupleReply, protoInfo, timeout, natDST = 1, 2, 4, 7, 13 // CTA_...
		create                                            = unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE
	)
	req := raw.NewNetlinkRequest(netlink.ConntrackTable<<8, create)
	req.AddData(&raw.Nfgenmsg{NfgenFamily: flow.FamilyType})
	least, most := 1, 2 // CTA_NAT_V4_MINIP and CTA_NAT_V4_MAXIP, or those of IPv6
	if to.Is6() {
		least, most = 4, 5
	}
	for kind, way := range map[int]netlink.IPTuple{tupleOrig: flow.Forward, tupleReply: flow.Reverse} {
		tuple := raw.NewRtAttr(unix.NLA_F_NESTED|kind, nil)
		ip := tuple.AddRtAttr(unix.NLA_F_NESTED|raw.CTA_TUPLE_IP, nil)
		from, into := raw.CTA_IP_V4_SRC, raw.CTA_IP_V4_DST
		if to.Is6() {
			from, into = raw.CTA_IP_V6_SRC, raw.CTA_IP_V6_DST
		}
		ip.AddRtAttr(from, way.SrcIP)
		ip.AddRtAttr(into, way.DstIP)
		proto := tuple.AddRtAttr(unix.NLA_F_NESTED|raw.CTA_TUPLE_PROTO, nil)
		proto.AddRtAttr(raw.CTA_PROTO_NUM, []byte{way.Protocol})
		proto.AddRtAttr(raw.CTA_PROTO_SRC_PORT, binary.BigEndian.AppendUint16(nil, way.SrcPort))
		proto.AddRtAttr(raw.CTA_PROTO_DST_PORT, binary.BigEndian.AppendUint16(nil, way.DstPort))
		req.AddData(tuple)
	}
	if flow.Forward.Protocol == unix.IPPROTO_TCP {
		info := raw.NewRtAttr(unix.NLA_F_NESTED|protoInfo, nil)
		info.AddRtAttr(unix.NLA_F_NESTED|raw.CTA_PROTOINFO_TCP, nil).AddRtAttr(raw.CTA_PROTOINFO_TCP_STATE, []byte{3})
		req.AddData(info)
	}
	nat := raw.NewRtAttr(unix.NLA_F_NESTED|natDST, nil)
	nat.AddRtAttr(least, at.AsSlice())
	nat.AddRtAttr(most, at.AsSlice())
	req.AddData(nat)
	req.AddData(raw.NewRtAttr(timeout, binary.BigEndian.AppendUint32(nil, flow.TimeOut)))
	_, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	return err
}
