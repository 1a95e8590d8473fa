package wireguard

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	bridge = "br0"
	port   = 51820 // that of wg-quick's manual
	// overhead is what wg-quick takes off the underlay's MTU, in bytes: an outer IPv6
	// header 40, UDP 8, WireGuard's header and check value 32. Over IPv4, as here, 20 stay
	// unused.
	overhead = 80
)

func (v variant) build(ctx context.Context, n *plumb.Network) error {
	s := n.Site
	n.Hops, n.OnWire = hops, onWire
	mtu := plumb.Less(overhead)
	if err := s.Fits(v.Name, nil, mtu); err != nil {
		return err
	}
	for _, h := range s.Hosts {
		br, err := s.AddBridge(h, bridge, mtu(h.Uplink().MTU), true)
		if err != nil {
			return err
		}
		if err := br.Attach(ctx, s, h.Nodes, plumb.Plug{Gateway: true}); err != nil {
			return err
		}
		if err := h.Forwarding(); err != nil {
			return err
		}
		if v.userspace {
			err = v.start(ctx, n, h)
		} else {
			err = add(s, h)
		}
		if err != nil {
			return err
		}
	}
	return join(ctx, n)
}

// device is the tunnel's name on a host. It differs from host to host, since wireguard-go
// names its socket after it, and hosts of the lab share one directory for these.
func device(h *plumb.Host) string { return fmt.Sprintf("wg%d", h.Index+1) }

// add makes the kernel's device.
func add(s *plumb.Site, h *plumb.Host) error {
	name := device(h)
	s.MadeDevice(h.NS, name)
	return nl.With(h.NS, func(n *nl.NS) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = name
		return n.Add(&netlink.Wireguard{LinkAttrs: attrs})
	})
}

// route leads what is for the containers of other hosts into the tunnel, which goes up.
// The routes go with the device.
func route(n *nl.NS, s *plumb.Site, h *plumb.Host) error {
	if err := n.MTU(device(h), h.Uplink().MTU-overhead); err != nil {
		return err
	}
	if err := n.Up(device(h)); err != nil {
		return err
	}
	for _, other := range s.Hosts {
		for _, six := range []bool{false, true} {
			if other == h {
				continue
			}
			if err := n.Route(plumb.Subnet(other.Index, six), netip.Addr{}, device(h)); err != nil {
				return err
			}
		}
	}
	return nil
}

func hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	return []network.Hop{
		from.Hop(), from.PortHop(), bridgeHop(from.Host), tunnelHop(from.Host), from.Host.UplinkHop(),
		to.Host.UplinkHop(), tunnelHop(to.Host), bridgeHop(to.Host), to.PortHop(), to.Hop(),
	}
}

func bridgeHop(h *plumb.Host) network.Hop { return plumb.DeviceHop(h.Name(), h.NS, bridge) }

func tunnelHop(h *plumb.Host) network.Hop { return plumb.DeviceHop(h.Name(), h.NS, device(h)) }

func onWire(network.Family) string { return fmt.Sprintf("ip and udp port %d", port) }
