package cni

import (
	"fmt"
	"net/netip"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Addr implements network.Network. A family that the plugins gave no address of is
// not supported, nor is one that has no way between the hosts.
func (n *build) Addr(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
	addr, err := n.Network.Addr(from, to, f)
	if err != nil {
		return addr, err
	}
	if !addr.IsValid() {
		return addr, &platform.Unsupported{
			Feature: fmt.Sprintf("IPv%d", f), Option: fmt.Sprintf("a conflist that gives containers IPv%d addresses", f),
			Remedy: fmt.Sprintf("add an IPv%d range to the conflist, or measure IPv%d alone (-%[2]d)", f, other(f)),
		}
	}
	a, aok := from.(*plumb.Node)
	b, bok := to.(*plumb.Node)
	if aok && bok && n.closed[leg{a, b, f}] != nil {
		return netip.Addr{}, n.closed[leg{a, b, f}]
	}
	return addr, nil
}

func other(f network.Family) network.Family {
	if f == network.IPv6 {
		return network.IPv4
	}
	return network.IPv6
}

// distinct refuses an address that two have: which of them answers is chance.
func distinct(s *plumb.Site) error {
	has := map[netip.Addr]string{}
	for _, h := range s.Hosts {
		has[h.Uplink().Addr4.Addr()], has[h.Uplink().Addr6.Addr()] = h.Name(), h.Name()
	}
	for _, node := range s.Nodes() {
		for _, addr := range []netip.Addr{node.Addr4, node.Addr6} {
			if !addr.IsValid() {
				continue
			}
			if who, taken := has[addr]; taken {
				return fmt.Errorf("the plugins gave %s the address %s, which %s has: use host-local without a dataDir of its own, or a subnet for each host that is not the underlay's", node.Name(), addr, who)
			}
			has[addr] = node.Name()
		}
	}
	return nil
}
