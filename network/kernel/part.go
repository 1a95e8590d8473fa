package kernel

import (
	"context"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// parts returns the handlers by which an agent builds one machine's part of networks between machines.
func parts() map[string]agent.Handler {
	all := map[string]agent.Handler{
		plumb.MethodPart("macvlan"): plumb.Handler([]plumb.Need{plumb.Macvlan}, plumb.ChildrenPart("eth0", plumb.MacvlanBridge)),
		plumb.MethodPart("routed"):  plumb.Handler([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.Macvlan}, routedPart),
	}
	for _, t := range []tunnel{vxlan(), ipip(), gre(), geneve()} {
		all[plumb.MethodPart(t.Name)] = plumb.Handler(t.needs(), t.part)
	}
	return all
}

// way is the device by which what stands for a machine reaches the others, without changing the machine.
const way = "up0"

// routedPart builds one machine's part of plain routes between containers: the routers reach each other by macvlan
// devices on the uplinks, so that no machine needs a route or has to forward.
func routedPart(ctx context.Context, s *plumb.Site, h *plumb.Host) (plumb.Built, error) {
	b := plumb.Built{Crossed: map[int][]string{}}
	if err := s.Bridge(ctx, h, bridge, h.Uplink().MTU, plumb.Attachment{Gateway: true}); err != nil {
		return b, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = way
	device := &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}
	if err := h.AddOver(device, func(uplink netlink.Link) { device.ParentIndex = uplink.Attrs().Index }); err != nil {
		return b, err
	}
	return b, nl.With(h.NS, func(n *nl.NS) error {
		if err := n.Up(way); err != nil {
			return err
		}
		own := []netip.Prefix{netip.PrefixFrom(plumb.ExternalAddr(h.Index, 0, false), 16), netip.PrefixFrom(plumb.ExternalAddr(h.Index, 0, true), 64)}
		if err := n.Addr(way, own...); err != nil {
			return err
		}
		for _, other := range s.Others(h) {
			b.Crossed[other.Index] = []string{bridge, way}
			for _, six := range []bool{false, true} {
				if err := n.Route(plumb.Subnet(other.Index, six), plumb.ExternalAddr(other.Index, 0, six), way); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
