package udpoverlay

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/agent"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// carrier is the process of a host.
type carrier struct {
	network.Daemon
	client *agent.Client
	hops   []network.Hop // the overlay's, on this host
}

// start runs the process of a host, which takes what comes through the device.
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
	o := overlay{Device: device, Frames: frames, Listen: netip.AddrPortFrom(h.Uplink().Addr4.Addr(), port)}
	for _, other := range n.Site.Hosts {
		if other != h {
			o.Peers = append(o.Peers, peer{
				Addr:    netip.AddrPortFrom(other.Uplink().Addr4.Addr(), port),
				Subnets: []netip.Prefix{plumb.Subnet(other.Index, false), plumb.Subnet(other.Index, true)},
			})
		}
	}
	if err := c.client.Call(ctx, methodServe, o, nil); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	c.hops = []network.Hop{plumb.DeviceHop(h.Name(), h.NS, device), {
		Name: h.Name() + "/udp-overlay", Kind: network.Proxy, Read: c.carried,
	}}
	if frames {
		c.hops = append(c.hops, plumb.DeviceHop(h.Name(), h.NS, bridgeEnd))
	} else {
		c.hops = append(c.hops, plumb.DeviceHop(h.Name(), h.NS, bridge)) // which routes to the device
	}
	n.carriers[h] = c
	n.Procs = append(n.Procs, c.Daemon)
	return nil
}

// carried asks the process what it has carried.
func (c *carrier) carried(ctx context.Context) (count network.Count, err error) {
	err = c.client.Call(ctx, methodCount, struct{}{}, &count)
	return count, err
}

// check looks for a process that has ended, or carries no more.
func (n *build) check(ctx context.Context) error {
	for _, h := range n.Site.Hosts {
		c := n.carriers[h]
		if err := c.client.Err(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if _, err := c.carried(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}
