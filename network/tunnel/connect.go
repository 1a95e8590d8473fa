package tunnel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

const bridge = "br0"

// Connect implements network.Technique.
func (t Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	s, err := plumb.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	n := &plumb.Network{Site: s, OnWire: func(network.Family) string { return t.wire }}
	if err := t.build(ctx, n); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return n, nil
}

func (t Technique) build(ctx context.Context, n *plumb.Network) error {
	if err := n.Fits(t.name, t.families, t.payload); err != nil {
		return err
	}
	for _, h := range n.Hosts {
		if err := t.host(ctx, n.Site, h); err != nil {
			return err
		}
	}
	if t.device == nil {
		m, err := encrypt(n.Site)
		n.Hops = m.hops
		return err
	}
	n.Hops = deviceHops
	return nil
}

// host makes what is on one host: the containers' bridge, and the ends of the tunnels.
func (t Technique) host(ctx context.Context, s *plumb.Site, h *plumb.Host) error {
	mtu := t.payload(h.Uplink().MTU)
	br, err := s.AddBridge(h, bridge, mtu, !t.flat)
	if err != nil {
		return err
	}
	if t.flat {
		br.Kept = len(s.Hosts) - 1 // for the tunnels
	}
	if err := br.Attach(ctx, s, h.Nodes, plumb.Plug{Flat: t.flat, Gateway: !t.flat}); err != nil {
		return err
	}
	if t.flat {
		err = h.BridgeNetfilter(false)
	} else {
		err = h.Forwarding()
	}
	if err != nil || t.device == nil {
		return err
	}
	return t.ends(s, h, mtu)
}
