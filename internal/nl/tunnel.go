package nl

import (
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// IPIP returns a device that carries IPv4 in IPv4 between two hosts.
func IPIP(attrs netlink.LinkAttrs, local, remote netip.Addr) netlink.Link {
	return &netlink.Iptun{
		LinkAttrs: attrs, Local: local.AsSlice(), Remote: remote.AsSlice(), PMtuDisc: 1, Proto: unix.IPPROTO_IPIP,
	}
}

// GRE returns a device that carries IPv4 and IPv6 in GRE between two hosts.
func GRE(attrs netlink.LinkAttrs, local, remote netip.Addr) netlink.Link {
	return &netlink.Gretun{LinkAttrs: attrs, Local: local.AsSlice(), Remote: remote.AsSlice(), PMtuDisc: 1}
}

// GenevePort is the UDP port that IANA assigned to Geneve (RFC 8926).
const GenevePort = 6081

// Geneve returns a device that carries frames in UDP to a host.
func Geneve(attrs netlink.LinkAttrs, _, remote netip.Addr) netlink.Link {
	const vni = 42
	return &netlink.Geneve{LinkAttrs: attrs, ID: vni, Remote: remote.AsSlice(), Dport: GenevePort}
}
