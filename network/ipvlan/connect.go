package ipvlan

import (
	"context"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// Connect implements network.Technique.
func (t Technique) Connect(ctx context.Context, topo network.Topology, p platform.Platform) (network.Network, error) {
	s, err := plumb.Begin(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	for _, n := range s.Nodes() {
		if err := s.Child(ctx, n, "eth0", t.device); err != nil {
			return nil, s.Abandon(ctx, err)
		}
		if t.layer3 {
			if err := leave(n); err != nil {
				return nil, s.Abandon(ctx, err)
			}
		}
	}
	if t.layer3 {
		if err := s.RouteContainers(); err != nil {
			return nil, s.Abandon(ctx, err)
		}
	}
	return &plumb.Network{Site: s, Hops: plumb.ChildHops}, nil
}

func (t Technique) device(attrs netlink.LinkAttrs) netlink.Link {
	mode := netlink.IPVLAN_MODE_L2
	if t.layer3 {
		mode = netlink.IPVLAN_MODE_L3
	}
	return &netlink.IPVlan{LinkAttrs: attrs, Mode: mode}
}

// leave sends everything of a container to its device: in L3 mode there are no
// neighbours to be found, the host's routes decide.
func leave(n *plumb.Node) error {
	return nl.With(n.NS, func(in *nl.NS) error {
		for _, six := range []bool{false, true} {
			if err := in.Route(nl.Default(six), netip.Addr{}, n.Device); err != nil {
				return err
			}
		}
		return nil
	})
}
