package nft

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Part is a match or a verdict, as sent to the kernel.
type Part []expr.Any

// register is where a match loads the value that it compares.
const register = 1

func device(key expr.MetaKey, op expr.CmpOp, name string) Part {
	padded := make([]byte, unix.IFNAMSIZ)
	copy(padded, name)
	return Part{
		&expr.Meta{Key: key, Register: register},
		&expr.Cmp{Op: op, Register: register, Data: padded},
	}
}

// In matches packets that came in through the device.
func In(name string) Part { return device(expr.MetaKeyIIFNAME, expr.CmpOpEq, name) }

// Out matches packets that go out through the device.
func Out(name string) Part { return device(expr.MetaKeyOIFNAME, expr.CmpOpEq, name) }

// NotOut matches packets that do not go out through the device.
func NotOut(name string) Part { return device(expr.MetaKeyOIFNAME, expr.CmpOpNeq, name) }

// Established matches packets of known connections and those related to them.
func Established() Part {
	mask := binaryutil.NativeEndian.PutUint32(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED)
	return Part{
		&expr.Ct{Key: expr.CtKeySTATE, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: mask, Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: make([]byte, 4)},
	}
}

// ToLocal matches packets to any address of the host itself.
func ToLocal() Part {
	return Part{
		&expr.Fib{Register: register, FlagDADDR: true, ResultADDRTYPE: true},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: binaryutil.NativeEndian.PutUint32(unix.RTN_LOCAL)},
	}
}

// offsets of the addresses in the network header
const (
	source4, destination4 = 12, 16
	source6, destination6 = 8, 24
)

func address(p netip.Prefix, offset4, offset6 uint32) Part {
	proto, offset := byte(unix.NFPROTO_IPV4), offset4
	if p.Addr().Is6() {
		proto, offset = unix.NFPROTO_IPV6, offset6
	}
	size := uint32(p.Addr().BitLen() / 8)
	return Part{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{proto}},
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: size},
		&expr.Bitwise{
			SourceRegister: register, DestRegister: register, Len: size,
			Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()), Xor: make([]byte, size),
		},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: p.Masked().Addr().AsSlice()},
	}
}

// From matches packets whose source is in the prefix.
func From(p netip.Prefix) Part { return address(p, source4, source6) }

// To matches packets whose destination is in the prefix.
func To(p netip.Prefix) Part { return address(p, destination4, destination6) }

// Translated matches packets of connections whose destination was translated.
func Translated() Part {
	const dnat = 1 << 5 // IPS_DST_NAT of <linux/netfilter/nf_conntrack_common.h>
	return Part{
		&expr.Ct{Key: expr.CtKeySTATUS, Register: register},
		&expr.Bitwise{
			SourceRegister: register, DestRegister: register, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(dnat), Xor: make([]byte, 4),
		},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: make([]byte, 4)},
	}
}

// Ports matches TCP or UDP packets to ports first to last.
func Ports(protocol byte, first, last int) Part {
	return Part{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{protocol}},
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Range{
			Op: expr.CmpOpEq, Register: register,
			FromData: binary.BigEndian.AppendUint16(nil, uint16(first)),
			ToData:   binary.BigEndian.AppendUint16(nil, uint16(last)),
		},
	}
}

// Accept ends a rule: the packet continues.
func Accept() Part { return Part{&expr.Verdict{Kind: expr.VerdictAccept}} }

// Drop ends a rule: the packet is discarded.
func Drop() Part { return Part{&expr.Verdict{Kind: expr.VerdictDrop}} }

// Return ends a rule: the packet returns to the chain that jumped here.
func Return() Part { return Part{&expr.Verdict{Kind: expr.VerdictReturn}} }

// Jump ends a rule: the packet goes to a chain of this table.
func Jump(to Chain) Part {
	return Part{&expr.Verdict{Kind: expr.VerdictJump, Chain: to.c.Name}}
}

// Masquerade ends a rule: the source becomes the address of the device through which the
// packet leaves.
func Masquerade() Part { return Part{&expr.Masq{}} }

// DNAT ends a rule: the destination becomes the address; ports are kept.
func DNAT(to netip.Addr) Part { return nat(expr.NATTypeDestNAT, to) }

// SNAT ends a rule: the source becomes the address; ports are kept if possible.
func SNAT(to netip.Addr) Part { return nat(expr.NATTypeSourceNAT, to) }

func nat(kind expr.NATType, to netip.Addr) Part {
	family := uint32(unix.NFPROTO_IPV4)
	if to.Is6() {
		family = unix.NFPROTO_IPV6
	}
	return Part{
		&expr.Immediate{Register: register, Data: to.AsSlice()},
		&expr.NAT{Type: kind, Family: family, RegAddrMin: register},
	}
}
