package lab

import (
	"context"
	"encoding/binary"
	"net/netip"

	"nettoll/internal/nl/nft"
)

// addRules gives the host n firewall rules for each IP version in front of what it
// receives and what it forwards. Each looks at the destination, as the rules of a
// service do, and none matches: the addresses are of 240.0.0.0/4 (RFC 1112,
// section 4), which nobody has, and of a subnet of 2001:2::/48 that no lab uses.
func (h *host) addRules(ctx context.Context, n int) error {
	fw, err := nft.New(h.NetNS(), "further-rules")
	if err != nil {
		return err
	}
	defer fw.Close()
	four, six := fw.Chain("SERVICES4"), fw.Chain("SERVICES6")
	for _, base := range []nft.Chain{fw.BaseChain("INPUT", nft.Input, false), fw.BaseChain("FORWARD", nft.Forward, false)} {
		base.Rule(nft.From(netip.PrefixFrom(netip.IPv4Unspecified(), 0)), nft.Jump(four))
		base.Rule(nft.From(netip.PrefixFrom(netip.IPv6Unspecified(), 0)), nft.Jump(six))
	}
	for k := range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a4, a6 := nobody(k)
		four.Filler(nft.To(netip.PrefixFrom(a4, a4.BitLen())), nft.Drop())
		six.Filler(nft.To(netip.PrefixFrom(a6, a6.BitLen())), nft.Drop())
	}
	return fw.Commit()
}

// nobody has these addresses.
func nobody(k int) (netip.Addr, netip.Addr) {
	a4, a6 := [4]byte{240}, [16]byte{0x20, 0x01, 0, 2, 6: 0xff, 7: 0xfe}
	binary.BigEndian.PutUint16(a4[1:], uint16(k>>8))
	a4[3] = byte(k)
	binary.BigEndian.PutUint32(a6[12:], uint32(k))
	return netip.AddrFrom4(a4), netip.AddrFrom16(a6)
}
