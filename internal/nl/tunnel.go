package nl

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Isolate keeps a bridge from forwarding between this port and other isolated ones. Ports
// that are tunnels of a full mesh need it: what came from one host must not go to
// another, or frames would run in circles.
func (n *NS) Isolate(port string) error {
	l, err := n.Link(port)
	if err != nil {
		return err
	}
	if err := again(func() error { return n.LinkSetIsolated(l, true) }); err != nil {
		return fmt.Errorf("isolate bridge port %s: %w", port, err)
	}
	return nil
}

// MTU sets the MTU of a device, in bytes.
func (n *NS) MTU(device string, mtu int) error {
	l, err := n.Link(device)
	if err != nil {
		return err
	}
	if err := again(func() error { return n.LinkSetMTU(l, mtu) }); err != nil {
		return fmt.Errorf("set MTU of %s to %d: %w", device, mtu, err)
	}
	return nil
}

// IPIP is a device that carries IPv4 in IPv4 between two hosts.
func IPIP(attrs netlink.LinkAttrs, local, remote netip.Addr) netlink.Link {
	return &netlink.Iptun{
		LinkAttrs: attrs, Local: local.AsSlice(), Remote: remote.AsSlice(), PMtuDisc: 1, Proto: unix.IPPROTO_IPIP,
	}
}

// GRE is a device that carries IPv4 and IPv6 in GRE between two hosts.
func GRE(attrs netlink.LinkAttrs, local, remote netip.Addr) netlink.Link {
	return &netlink.Gretun{LinkAttrs: attrs, Local: local.AsSlice(), Remote: remote.AsSlice(), PMtuDisc: 1}
}

// GenevePort is IANA's for Geneve, RFC 8926.
const GenevePort = 6081

// Geneve is a device that carries frames in UDP to a host.
func Geneve(attrs netlink.LinkAttrs, _, remote netip.Addr) netlink.Link {
	const vni = 42
	return &netlink.Geneve{LinkAttrs: attrs, ID: vni, Remote: remote.AsSlice(), Dport: GenevePort}
}
