package tunnel

import (
	"context"
	"fmt"

	"nettoll/internal/plumb"
	"nettoll/platform"
	"nettoll/technique"
)

const (
	bridge = "br0"
	// least is the smallest MTU that IPv6 works with, in bytes (RFC 8200). Containers
	// have IPv6 addresses on their host whether the tunnel carries it or not.
	least = 1280
)

// Connect implements technique.Technique.
func (t Technique) Connect(ctx context.Context, topo technique.Topology, p platform.Platform) (technique.Network, error) {
	s, err := plumb.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	n := &plumb.Network{Site: s, OnWire: func(technique.Family) string { return t.wire }}
	if err := t.build(n); err != nil {
		return nil, s.Abandon(ctx, err)
	}
	return n, nil
}

func (t Technique) build(n *plumb.Network) error {
	for _, h := range n.Hosts {
		if err := t.host(n.Site, h); err != nil {
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
func (t Technique) host(s *plumb.Site, h *plumb.Host) error {
	mtu := t.payload(h.Uplink().MTU)
	if mtu < least {
		need := least
		for t.payload(need) < least {
			need++
		}
		return fmt.Errorf("%s: the MTU of the underlay, %d, leaves containers behind %s %d: it must be at least %d",
			h.Name(), h.Uplink().MTU, t.name, mtu, need)
	}
	br, err := s.AddBridge(h, bridge, mtu, !t.flat)
	if err != nil {
		return err
	}
	if t.flat {
		br.Kept = len(s.Hosts) - 1 // for the tunnels
	}
	if err := br.Attach(s, h.Nodes, plumb.Plug{Flat: t.flat, Gateway: !t.flat}); err != nil {
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
