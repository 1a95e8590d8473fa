package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// Bridge returns the driver of Docker's default network: containers on a Linux bridge by veth
// pairs, and Docker's rules.
func Bridge() network.Driver {
	return onBridge(true, network.Info{
		Name:  "bridge",
		About: "veth pairs on a Linux bridge with Docker's forward, isolation and masquerade rules, br_netfilter on",
	}, plumb.BridgeNetfilter)
}

// BridgeWithoutNetfilter returns the driver of a bridge whose packets meet no rules.
func BridgeWithoutNetfilter() network.Driver {
	return onBridge(false, network.Info{
		Name:  "bridge-nonf",
		About: "as bridge, but br_netfilter off: bridged packets meet no rule",
	})
}

func onBridge(netfilter bool, i network.Info, further ...plumb.Need) network.Driver {
	i.Hosts, i.Endpoints, i.Overflow = []int{1}, plumb.MaxPorts, true
	return plumb.Recipe{
		Info:  i,
		Needs: append([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.NAT}, further...),
		Build: func(ctx context.Context, n *plumb.Network) error {
			h := n.Site.Hosts[0]
			rules, err := dockers(ctx, n.Site, h, netfilter)
			if err != nil {
				return err
			}
			if err := rules.Commit(n.Site); err != nil {
				return err
			}
			n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop {
				established := plumb.RuleHop(h, "rule established", network.Rule, rules.Established, rules.Among)
				if !netfilter {
					established = plumb.Absent(established)
				}
				return []network.Hop{from.Hop(), from.PortHop(), established, to.PortHop(), to.Hop()}
			}
			return nil
		},
	}.Driver()
}

// dockers puts the containers of a host on a bridge, and makes Docker's rules for it, which do not
// apply until they are committed.
func dockers(ctx context.Context, s *plumb.Site, h *plumb.Host, netfilter bool) (*plumb.DockerRules, error) {
	if err := s.Bridge(ctx, h, bridge, s.Topo.Underlay.MTU, plumb.Attachment{Gateway: true}); err != nil {
		return nil, err
	}
	if err := h.BridgeNetfilter(netfilter); err != nil {
		return nil, err
	}
	return s.AddDockerRules(h, bridge)
}
