package tunnel

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// toward names a host's end of the tunnel to another host.
func toward(h *plumb.Host) string { return fmt.Sprintf("to-h%d", h.Index+1) }

// ends makes a device for the tunnel to each other host.
func (t Technique) ends(s *plumb.Site, h *plumb.Host, mtu int) error {
	return nl.With(h.NS, func(n *nl.NS) error {
		for _, other := range s.Hosts {
			if other == h {
				continue
			}
			name := toward(other)
			s.MadeDevice(h.NS, name)
			attrs := netlink.NewLinkAttrs()
			attrs.Name, attrs.MTU = name, mtu
			if err := n.Add(t.device(attrs, h.Uplink().Addr4.Addr(), other.Uplink().Addr4.Addr())); err != nil {
				return err
			}
			if err := t.use(n, name, other); err != nil {
				return err
			}
		}
		return nil
	})
}

// use leads what is for another host's containers into the tunnel's end, by the bridge or
// by routes, which go with the device.
func (t Technique) use(n *nl.NS, name string, other *plumb.Host) error {
	if t.flat {
		if err := n.Master(name, bridge); err != nil {
			return err
		}
		if err := n.Isolate(name); err != nil {
			return err
		}
		return n.Up(name)
	}
	if err := n.Up(name); err != nil {
		return err
	}
	if err := n.Route(plumb.Subnet(other.Index, false), netip.Addr{}, name); err != nil {
		return err
	}
	if len(t.families) > 0 && !slices.Contains(t.families, int(network.IPv6)) {
		return nil
	}
	return n.Route(plumb.Subnet(other.Index, true), netip.Addr{}, name)
}

func deviceHops(from, to *plumb.Node, _ network.Family) []network.Hop {
	return []network.Hop{
		from.Hop(), from.PortHop(), plumb.DeviceHop(from.Host.Name(), from.Host.NS, toward(to.Host)), from.Host.UplinkHop(),
		to.Host.UplinkHop(), plumb.DeviceHop(to.Host.Name(), to.Host.NS, toward(from.Host)), to.PortHop(), to.Hop(),
	}
}
