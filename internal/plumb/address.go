package plumb

import (
	"encoding/binary"
	"net/netip"

	"nettoll/network"
)

// The address plan. IPv4 is from 198.18.0.0/15 (RFC 2544), IPv6 from
// 2001:2::/48 (RFC 5180), the ranges set aside for benchmarking:
//
//	198.18.0.0/16   2001:2:0:ffff::/64   the underlay (platform/lab)
//	198.18.64.0/18  2001:2:0:100::/108   services, whose addresses are translated
//	198.18.128.0…   2001:2:0:ffff::1:0…  additional addresses of hosts on the underlay
//	198.19.16i.0/20 2001:2:0:i+1::/64    containers of host i, from 0 to 14
//	198.19.240.0/20 2001:2:0:10::/64     containers that have no room in their host's block
//	198.19.0.0/16   2001:2::/56          containers of all hosts, if they share one segment

// MaxContainers is how many containers of one host have an address in its own block.
const MaxContainers = 1<<12 - 4

// spareBlock is the block of containers that have no room in their host's block. No host has this
// number.
const spareBlock = 15

// ContainerAddr returns the address of container k of host i, both from 0.
func ContainerAddr(i, k int, six bool) netip.Addr { return at(i, k+2, six) }

// Gateway returns the address of host i on its containers' segment.
func Gateway(i int, six bool) netip.Addr { return at(i, 1, six) }

// Subnet returns the subnet of the containers of host i.
func Subnet(i int, six bool) netip.Prefix {
	bits := 20
	if six {
		bits = 64
	}
	return netip.PrefixFrom(at(i, 0, six), bits)
}

// Segment returns the subnet of all containers if they share one segment.
func Segment(six bool) netip.Prefix {
	bits := 16
	if six {
		bits = 56
	}
	p, _ := at(0, 0, six).Prefix(bits)
	return p
}

// Bare returns a filter that matches packets of containers on an underlay that carries them
// unchanged; see network.Network.Wire.
func Bare(f network.Family) string {
	if f == network.IPv6 {
		return "ip6 and net 2001:2::/56"
	}
	return "ip and net " + Segment(false).String()
}

// ServiceAddr returns the address of service i, from 0 to 16383. No device has it.
func ServiceAddr(i int, six bool) netip.Addr {
	if six {
		return numbered([]byte{0x20, 0x01, 0, 2, 6: 0x01, 13: 0}, i)
	}
	return numbered([]byte{198, 18}, 1<<14+i)
}

// MaxExternal is how many external addresses each host has.
const MaxExternal = 1<<11 - 1

// ExternalAddr returns an address on the underlay for container k of host i, up to MaxExternal.
func ExternalAddr(i, k int, six bool) netip.Addr {
	if six {
		return numbered([]byte{0x20, 0x01, 0, 2, 6: 0xff, 7: 0xff, 13: byte(i + 1)}, k)
	}
	return numbered([]byte{198, 18}, 1<<15+i<<11+k+1)
}

func at(i, k int, six bool) netip.Addr {
	if six {
		return numbered([]byte{0x20, 0x01, 0, 2, 7: byte(i + 1), 13: 0}, k)
	}
	return numbered([]byte{198, 19}, i<<12+k)
}

// numbered returns the address with that beginning and that number in its last two bytes.
func numbered(begin []byte, n int) netip.Addr {
	a, _ := netip.AddrFromSlice(binary.BigEndian.AppendUint16(begin, uint16(n)))
	return a
}

// Single returns the prefix of a single address.
func Single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
