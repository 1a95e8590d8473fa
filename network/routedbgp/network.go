// Package routedbgp measures Calico's datapath, built by hand: no bridge, a route to each container
// over its own veth device, and routes to the other hosts' containers that BIRD learns by BGP. A
// variant has the rules that felix writes for network policies in front of each container.
package routedbgp

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"nettoll/internal/bird"
	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
)

// variant is the datapath, with or without policies.
type variant struct {
	paths    program.Paths
	policies int // in front of each container
}

const about = "Calico's datapath by hand: a route to each container over its own veth device (proxy ARP, no bridge), and BIRD, which tells the other hosts of it by BGP"

// New returns the driver of the datapath alone.
func New(paths program.Paths) network.Driver {
	return variant{paths: paths}.driver("routed-bgp", about, plumb.Veth)
}

// NewPolicy returns the driver of the same with policies.
func NewPolicy(paths program.Paths) network.Driver {
	return variant{paths, policies}.driver("routed-bgp-policy",
		about+fmt.Sprintf("; each new connection passes %d network policies of %d rules where it leaves a container, and as many where it enters one", policies, rulesOfPolicy),
		plumb.Veth, plumb.NAT) // where NAT works, so do rules of nf_tables
}

func (v variant) driver(name, about string, needs ...plumb.Need) network.Driver {
	return plumb.Recipe{
		Info:  network.Info{Name: name, About: about, Hosts: []int{1, 2}, Startup: 2 * time.Second},
		Needs: needs, Programs: []daemon.Program{bird.Program}, Paths: v.paths,
		Build: v.build,
	}.Driver()
}

func (v variant) build(ctx context.Context, on *plumb.Network) (err error) {
	n := &build{Network: on, policies: map[*plumb.Node]network.Hop{}}
	n.OnWire, n.Hops = plumb.Bare, plumb.Across(n.side)
	for _, h := range n.Site.Hosts {
		err := n.AttachBehindProxyARP(ctx, h, h.Uplink().MTU)
		if err == nil {
			err = route(h)
		}
		if err == nil && v.policies > 0 {
			err = n.enforce(h, v.policies)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name(), err)
		}
	}
	routes := plumb.Routes{Site: n.Site, Families: []bool{false, true}}
	for _, h := range n.Site.Hosts {
		routes.Forget(h)
	}
	n.Check = func(context.Context) error { return routes.Lost("bird") }
	n.Needed, err = bird.Mesh{Routes: routes, Path: n.Programs["bird"]}.Start(ctx)
	return err
}

// build is the network, with the rules that prove that policies are on the path.
type build struct {
	*plumb.Network
	policies map[*plumb.Node]network.Hop
}

// side returns the policies of a container, if it has any.
func (n *build) side(at *plumb.Node, _ *plumb.Host, _ network.Family) []network.Hop {
	if hop, ok := n.policies[at]; ok {
		return []network.Hop{hop}
	}
	return nil
}

// route does what felix does for the containers of a host: it makes routes to them, and lets the
// host's ends answer ARP at once for every address that the host can route to.
func route(h *plumb.Host) error {
	return nl.With(h.NS, func(n *nl.NS) error {
		for _, node := range h.Nodes {
			if err := answerFor(node); err != nil {
				return err
			}
			for _, a := range []netip.Addr{node.Addr4, node.Addr6} {
				if err := n.LinkRoute(plumb.Single(a), node.Port); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func answerFor(node *plumb.Node) error {
	for _, p := range [][2]string{
		{"net/ipv4/conf/%s/proxy_arp", "1"},
		{"net/ipv4/neigh/%s/proxy_delay", "0"},
		{"net/ipv4/conf/%s/rp_filter", "1"},
	} {
		if err := netns.SetSysctl(node.Host.NS, fmt.Sprintf(p[0], node.Port), p[1]); err != nil {
			return err
		}
	}
	return nil
}
