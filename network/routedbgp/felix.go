package routedbgp

import (
	"fmt"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// route does what felix does for the containers of a host: there are routes to them, and
// the host's ends answer ARP for what it can route to, at once.
func route(h *plumb.Host) error {
	return nl.With(h.NS, func(n *nl.NS) error {
		for _, node := range h.Nodes {
			if err := answerFor(node); err != nil {
				return err
			}
			if err := n.LinkRoute(plumb.Single(node.Addr4), node.Port); err != nil {
				return err
			}
			if err := n.LinkRoute(plumb.Single(node.Addr6), node.Port); err != nil {
				return err
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
