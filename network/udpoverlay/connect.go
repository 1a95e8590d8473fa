package udpoverlay

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

const (
	bridge = "br0"
	tun    = "tun0"
	port   = 8290 // UDP; not assigned by IANA
	// outer is the size that the datagram adds to a packet, in bytes: IPv4 20, UDP 8.
	outer = 28
	// ethernet is the size of a frame's header, in bytes.
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
	n.OnWire, n.Hops, n.Check, n.Adds = onWire, n.path, n.check, v.overhead()
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

// overhead returns the number of bytes that the overlay adds to a packet of a container.
func (v variant) overhead() int {
	if v.frames {
		return outer + ethernet
	}
	return outer
}

// build is an overlay network.
type build struct {
	*plumb.Network
	carriers map[*plumb.Host]*carrier
}

// routed builds a host whose packets for other hosts' containers are routed to the process.
func (n *build) routed(ctx context.Context, h *plumb.Host) error {
	mtu := h.Uplink().MTU - outer
	if err := n.Bridge(ctx, h, bridge, mtu, plumb.Attachment{Gateway: true}); err != nil {
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
		return ns.Lead(tun, plumb.Segment(false), plumb.Segment(true)) // the routes disappear with the device
	})
}

// bridged builds a host whose process takes frames off a port of the bridge.
func (n *build) bridged(ctx context.Context, h *plumb.Host) error {
	mtu := h.Uplink().MTU - outer - ethernet
	if err := n.Bridge(ctx, h, bridge, mtu, plumb.Attachment{Flat: true, Kept: 1}); err != nil {
		return err
	}
	if err := h.CompleteChecksums(); err != nil {
		return err
	}
	n.MadeDevice(h.NS, bridgeEnd)
	err := nl.With(h.NS, func(ns *nl.NS) error {
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

// path returns the path, which is the same in both directions.
func (n *build) path(from, to *plumb.Node, _ network.Family) []network.Hop {
	hops := append([]network.Hop{from.Hop(), from.PortHop()}, n.carriers[from.Host].hops...)
	hops = append(hops, from.Host.UplinkHop(), to.Host.UplinkHop())
	return append(append(hops, n.carriers[to.Host].hops...), to.PortHop(), to.Hop())
}

func onWire(network.Family) string { return fmt.Sprintf("udp dst port %d", port) }

// carrier is the process of a host.
type carrier struct {
	network.Daemon
	client *agent.Client
	hops   []network.Hop // the overlay's hops on this host
}

// start runs the process of a host, which carries the packets of the device.
func (n *build) start(ctx context.Context, h *plumb.Host, device string, frames bool) error {
	proc, err := h.Start(ctx, platform.Command{Path: platform.Self, Args: []string{"agent"}})
	if err != nil {
		return err
	}
	c := &carrier{
		Daemon: network.Daemon{Name: "udp-overlay on " + h.Name(), Host: h.Name(), PID: proc.PID()},
		client: agent.Dial(proc),
	}
	n.Push(c.Name, func(context.Context) error { return c.client.Close() })
	o := overlay{Device: device, Frames: frames, Listen: netip.AddrPortFrom(h.OnUnderlay(false), port)}
	for _, other := range n.Others(h) {
		o.Peers = append(o.Peers, peer{
			Addr:    netip.AddrPortFrom(other.OnUnderlay(false), port),
			Subnets: []netip.Prefix{plumb.Subnet(other.Index, false), plumb.Subnet(other.Index, true)},
		})
	}
	if err := c.client.Call(ctx, methodServe, o, nil); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	from, way := h.Hop(device, "tuntap"), h.Hop(bridge, "bridge") // which routes to the device
	if frames {
		from, way = h.Hop(device, plumb.Pair), h.Hop(bridgeEnd, plumb.Pair)
		from.Meets, way.Meets = way.Name, from.Name
	}
	c.hops = []network.Hop{
		from, {Name: h.Name() + "/udp-overlay", Kind: network.Proxy, Read: c.carried}, way,
	}
	n.carriers[h] = c
	n.Procs = append(n.Procs, c.Daemon)
	return nil
}

// carried returns the counters of the process.
func (c *carrier) carried(ctx context.Context) (network.Count, error) {
	return agent.Ask[network.Count](ctx, c.client, methodCount, struct{}{})
}

// check checks that no process has exited or stopped carrying packets.
func (n *build) check(ctx context.Context) error {
	for _, h := range n.Site.Hosts {
		c := n.carriers[h]
		err := c.client.Err()
		if err == nil {
			_, err = c.carried(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}
