package udpoverlay

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	bridge = "br0"
	tun    = "tun0"
	port   = 8290 // UDP; not assigned by IANA
	// outer is what the datagram adds to a packet, in bytes: IPv4 20, UDP 8.
	outer = 28
	// ethernet is what a frame has more than its packet, in bytes.
	ethernet = 14
)

// The two ends of the veth pair between the bridge and the process that takes frames.
const (
	bridgeEnd  = "overlay-bridge"
	processEnd = "overlay-packet"
)

func (v variant) build(ctx context.Context, on *plumb.Network) error {
	if err := on.Fits(v.Name, nil, plumb.Less(v.overhead())); err != nil {
		return err
	}
	n := &build{Network: on, carriers: map[*plumb.Host]*carrier{}}
	n.OnWire, n.Hops, n.Check = onWire, n.path, n.check
	for _, h := range n.Site.Hosts {
		host := n.routed
		if v.frames {
			host = n.bridged
		}
		if err := host(ctx, h); err != nil {
			return fmt.Errorf("%s: %s: %w", v.Name, h.Name(), err)
		}
	}
	return nil
}

// overhead is what the overlay adds to a packet of a container, in bytes.
func (v variant) overhead() int {
	if v.frames {
		return outer + ethernet
	}
	return outer
}

// build is the overlay at work.
type build struct {
	*plumb.Network
	carriers map[*plumb.Host]*carrier
}

// routed builds a host whose packets for other hosts' containers are routed to the process.
func (n *build) routed(ctx context.Context, h *plumb.Host) error {
	mtu := h.Uplink().MTU - outer
	br, err := n.AddBridge(h, bridge, mtu, true)
	if err != nil {
		return err
	}
	if err := br.Attach(ctx, n.Site, h.Nodes, plumb.Plug{Gateway: true}); err != nil {
		return err
	}
	if err := h.BridgeNetfilter(false); err != nil {
		return err
	}
	if err := h.Forwarding(); err != nil {
		return err
	}
	if err := n.start(ctx, h, tun, false); err != nil {
		return err
	}
	return nl.With(h.NS, func(ns *nl.NS) error {
		if err := ns.MTU(tun, mtu); err != nil {
			return err
		}
		if err := ns.Up(tun); err != nil {
			return err
		}
		for _, six := range []bool{false, true} { // the routes go with the device
			if err := ns.Route(plumb.Segment(six), netip.Addr{}, tun); err != nil {
				return err
			}
		}
		return nil
	})
}

// bridged builds a host whose process takes frames off a port of the bridge.
func (n *build) bridged(ctx context.Context, h *plumb.Host) error {
	mtu := h.Uplink().MTU - outer - ethernet
	br, err := n.AddBridge(h, bridge, mtu, false)
	if err != nil {
		return err
	}
	br.Kept = 1 // for the process
	if err := br.Attach(ctx, n.Site, h.Nodes, plumb.Plug{Flat: true}); err != nil {
		return err
	}
	for _, c := range h.Nodes {
		if err := c.CompleteChecksums(); err != nil {
			return err
		}
	}
	if err := h.BridgeNetfilter(false); err != nil {
		return err
	}
	n.MadeDevice(h.NS, bridgeEnd)
	err = nl.With(h.NS, func(ns *nl.NS) error {
		if err := ns.AddPair(bridgeEnd, h.NS, processEnd, mtu); err != nil {
			return err
		}
		if err := ns.Master(bridgeEnd, bridge); err != nil {
			return err
		}
		if err := ns.Up(processEnd, bridgeEnd); err != nil {
			return err
		}
		return ns.Running(ctx, processEnd, bridgeEnd)
	})
	if err != nil {
		return err
	}
	return n.start(ctx, h, processEnd, true)
}

// path is the same in both directions.
func (n *build) path(from, to *plumb.Node, _ network.Family) []network.Hop {
	hops := append([]network.Hop{from.Hop(), from.PortHop()}, n.carriers[from.Host].hops...)
	hops = append(hops, from.Host.UplinkHop(), to.Host.UplinkHop())
	return append(append(hops, n.carriers[to.Host].hops...), to.PortHop(), to.Hop())
}

func onWire(network.Family) string { return fmt.Sprintf("udp dst port %d", port) }
