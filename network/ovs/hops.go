package ovs

import (
	"nettoll/internal/plumb"
	"nettoll/network"
)

// hops are the containers' devices and their ports, tunnels and uplinks, and on each host
// what Open vSwitch says that it has carried.
func (b *build) hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	a, z := b.vswitches[from.Host.Index], b.vswitches[to.Host.Index]
	all := append([]network.Hop{from.Hop()}, b.port(from)...)
	if a == z {
		all = append(all, a.hop(from.Port+"-"+to.Port, number(from), number(to)))
	} else {
		all = append(all, a.hop(from.Port+"-"+b.tech.tunnel.name(to.Host), number(from), b.tech.tunnel.number(to.Host)))
		all = append(all, b.across(from.Host, to.Host)...)
		all = append(all, z.hop(b.tech.tunnel.name(from.Host)+"-"+to.Port, b.tech.tunnel.number(from.Host), number(to)))
	}
	return append(append(all, b.port(to)...), to.Hop())
}

// port is the host's end of a veth pair.
func (b *build) port(n *plumb.Node) []network.Hop {
	if b.tech.ports == internal {
		return nil
	}
	return []network.Hop{n.PortHop()}
}

// across is the way between hosts. The kernel has a device for all tunnels of a kind.
func (b *build) across(from, to *plumb.Host) []network.Hop {
	if b.tech.datapath == userspace {
		return []network.Hop{from.UplinkHop(), to.UplinkHop()}
	}
	return []network.Hop{
		plumb.DeviceHop(from.Name(), from.NS, b.tech.tunnel.device), from.UplinkHop(),
		to.UplinkHop(), plumb.DeviceHop(to.Name(), to.NS, b.tech.tunnel.device),
	}
}
