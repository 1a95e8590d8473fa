package calico

import (
	"context"
	"fmt"
	"slices"

	"nettoll/internal/bird"
	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// build is Calico at work.
type build struct {
	*plumb.Network
	tech     variant
	programs programs
	routes   plumb.Routes // between hosts
	shared   map[table]*reading
}

// overhead of the tunnels in bytes: an outer IPv4 header; VXLAN over IPv6 (outer IP
// 40, UDP 8, VXLAN 8, inner Ethernet 14). Felix gives all containers the lesser MTU.
var overhead = map[way]int{ipip: 20, vxlan: 70}

func (n *build) build(ctx context.Context) error {
	var err error
	if n.programs, err = n.tech.programs(); err != nil {
		return err
	}
	s := n.Site
	mtu := plumb.Less(overhead[n.tech.way])
	if err := s.Fits(n.tech.Name, nil, mtu); err != nil {
		return err
	}
	for _, h := range s.Hosts {
		if err := s.AttachBehindProxyARP(ctx, h, mtu(h.Uplink().MTU)); err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	dir, err := daemon.State(&s.Stack)
	if err != nil {
		return err
	}
	etcd, err := daemon.StartEtcd(ctx, &s.Stack, n.tech.paths, s.Hosts[0], dir)
	if err != nil {
		return err
	}
	n.Needed = append(n.Needed, etcd.Daemon)
	if err := n.tech.describe(ctx, etcd, s); err != nil {
		return err
	}
	felix, err := n.startFelix(ctx, etcd.URL)
	if err != nil {
		return err
	}
	n.Needed = append(n.Needed, felix...)
	if n.tech.way == vxlan {
		return nil
	}
	mesh := bird.Mesh{Routes: n.routes, Paths: n.tech.paths}
	if n.tech.way == ipip {
		mesh.Tunnel = tunnel
	}
	routers, err := mesh.Start(ctx)
	n.Needed = append(n.Needed, routers...)
	return err
}

// lost says which of the routes between hosts are there no more, and which policies.
func (n *build) lost(ctx context.Context) error {
	if err := n.routes.Lost("calico"); err != nil {
		return err
	}
	return n.unruled(ctx)
}

// tunnel is the device that felix sets up for IPIP. The kernel makes it in each
// namespace when the module is loaded, unless it is told not to.
const tunnel = "tunl0"

// devices are the tunnels between hosts.
func (n *build) devices(six bool) []string {
	switch {
	case n.tech.way == ipip:
		return []string{tunnel}
	case n.tech.way == vxlan && six:
		return []string{"vxlan-v6.calico"}
	case n.tech.way == vxlan:
		return []string{"vxlan.calico"}
	}
	return nil
}

// toward is the device that packets to other hosts' containers are routed to.
func (n *build) toward(h *plumb.Host, six bool) string {
	if d := n.devices(six); len(d) > 0 {
		return d[0]
	}
	return h.Uplink().Device
}

func (n *build) hops(from, to *plumb.Node, f network.Family) []network.Hop {
	if from.Host == to.Host {
		// What the rules of the one accept does not come to those of the other.
		return []network.Hop{
			from.Hop(), from.PortHop(), n.rulesHop(f, from, to), plumb.Absent(from.Host.UplinkHop()), to.PortHop(), to.Hop(),
		}
	}
	side := func(node *plumb.Node) []network.Hop {
		h := node.Host
		hops := []network.Hop{node.Hop(), node.PortHop(), n.rulesHop(f, node)}
		for _, d := range n.devices(f == network.IPv6) {
			hops = append(hops, plumb.DeviceHop(h.Name(), h.NS, d))
		}
		return append(hops, h.UplinkHop())
	}
	far := side(to)
	slices.Reverse(far)
	return append(side(from), far...)
}

func (n *build) onWire(f network.Family) string {
	switch n.tech.way {
	case ipip:
		return "ip proto 4"
	case vxlan:
		return "udp dst port 4789" // IANA's for VXLAN
	}
	return plumb.Bare(f)
}
