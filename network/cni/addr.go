package cni

import (
	"fmt"
	"net/netip"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// refuse: a family that the plugins gave no address of is not supported, nor is one that has no
// way between the hosts.
func (n *build) refuse(from, to *plumb.Node, f network.Family, at netip.Addr) error {
	if !at.IsValid() {
		return &platform.Unsupported{
			Feature: fmt.Sprintf("IPv%d", f), Option: fmt.Sprintf("a conflist that gives containers IPv%d addresses", f),
			Remedy: fmt.Sprintf("add an IPv%d range to the conflist, or measure IPv%d alone (-%[2]d)", f, other(f)),
		}
	}
	return n.closed[leg{from, to, f}]
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
