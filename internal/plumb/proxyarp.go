package plumb

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
)

// Settings of Calico's CNI plugin for every container: the host's ends of all veth pairs have the same
// hardware address, and so the same link-local address, which is the gateway for IPv6.
var (
	proxyMAC      = net.HardwareAddr{0xee, 0xee, 0xee, 0xee, 0xee, 0xee}
	proxyGateway6 = netip.AddrFrom16([16]byte{0xfe, 0x80, 8: 0xec, 0xee, 0xee, 0xff, 0xfe, 0xee, 0xee, 0xee})
)

// ProxyGateway is the gateway for IPv4 there: an address that no host has. The host answers ARP for it.
var ProxyGateway = netip.AddrFrom4([4]byte{169, 254, 1, 1})

// AttachBehindProxyARP connects the containers of a host to it without a bridge, and makes it route,
// as Calico's CNI plugin does. The code that writes the routes to the containers must also make the
// host answer ARP.
func (s *Site) AttachBehindProxyARP(ctx context.Context, h *Host, mtu int) error {
	if err := h.Forwarding(); err != nil {
		return err
	}
	// A host answers ARP for an address only if it has a route to it. A default route would be enough,
	// but the hosts of a lab have none.
	s.MadeIn(h.NS, "route to the gateway's address", func(n *nl.NS) error { return n.UnlinkRoute(Single(ProxyGateway)) })
	err := nl.With(h.NS, func(n *nl.NS) error { return n.LinkRoute(Single(ProxyGateway), h.Uplink().Device) })
	if err != nil {
		return err
	}
	var ports []string
	for _, node := range h.Nodes {
		if err := s.attachBehindProxyARP(ctx, node, mtu); err != nil {
			return fmt.Errorf("attach %s: %w", node.Name(), err)
		}
		ports = append(ports, node.Port)
	}
	return nl.With(h.NS, func(n *nl.NS) error { return n.Running(ctx, ports...) })
}

// attachBehindProxyARP connects one container to its host.
func (s *Site) attachBehindProxyARP(ctx context.Context, node *Node, mtu int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	h := node.Host
	node.Port, node.Link, node.MTU = fmt.Sprintf("cali%d", node.Index), Pair, mtu
	s.MadeDevice(h.NS, node.Port)
	attrs := nl.Attrs(node.Port, mtu)
	attrs.HardwareAddr = proxyMAC
	return nl.With(h.NS, func(n *nl.NS) error {
		if err := n.AddVeth(attrs, node.NS, node.Device); err != nil {
			return err
		}
		// No other device on the link can have this end's address, and the container needs it at once.
		if err := netns.SetSysctl(h.NS, "net/ipv6/conf/"+node.Port+"/accept_dad", "0"); err != nil {
			return err
		}
		if err := n.Up(node.Port); err != nil {
			return err
		}
		return node.configureBehindProxyARP()
	})
}

// configureBehindProxyARP gives the container its addresses and gateways.
func (n *Node) configureBehindProxyARP() error {
	return nl.With(n.NS, func(in *nl.NS) error {
		if err := in.Up(n.Device); err != nil {
			return err
		}
		if err := in.LinkRoute(Single(ProxyGateway), n.Device); err != nil {
			return err
		}
		for _, way := range []struct{ own, via netip.Addr }{{n.Addr4, ProxyGateway}, {n.Addr6, proxyGateway6}} {
			if err := in.Addr(n.Device, Single(way.own)); err != nil {
				return err
			}
			if err := in.Route(nl.Default(way.own.Is6()), way.via, n.Device); err != nil {
				return err
			}
		}
		return nil
	})
}
