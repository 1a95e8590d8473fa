package udpoverlay

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
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

// Connect implements network.Technique.
func (t Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	s, err := plumb.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	if err := s.Fits(t.Name(), nil, plumb.Less(t.overhead())); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	n := &build{Network: &plumb.Network{Site: s, OnWire: onWire}, carriers: map[*plumb.Host]*carrier{}}
	n.Hops, n.Check = n.path, n.check
	for _, h := range s.Hosts {
		build := n.routed
		if t.frames {
			build = n.bridged
		}
		if err := build(ctx, h); err != nil {
			return nil, s.Abandon(ctx, fmt.Errorf("%s: %s: %w", t.Name(), h.Name(), err))
		}
	}
	return n, nil
}

// overhead is what the overlay adds to a packet of a container, in bytes.
func (t Technique) overhead() int {
	if t.frames {
		return outer + ethernet
	}
	return outer
}

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
