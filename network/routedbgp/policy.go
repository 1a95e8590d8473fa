package routedbgp

import (
	"fmt"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	policies      = 10 // applied to each container, in either direction
	rulesOfPolicy = 10
	// firstUnused is the first of the ports that rules name, which no server of nettoll listens on.
	firstUnused = 1001
)

// enforce writes the rules that felix keeps for the containers of a host: one dispatch to the chain
// of the container that a packet comes from, and one to the chain of the container that it goes to.
// These chains accept packets of known connections; other packets need a policy that allows them.
func (n *build) enforce(h *plumb.Host, count int) error {
	fw, err := n.Firewall(h.NS, "calico")
	if err != nil {
		return err
	}
	counting := map[*plumb.Node][]nft.Rule{}
	for _, way := range []struct {
		dispatch, chain, policy string
		at                      func(string) nft.Part
	}{
		{"cali-from-wl-dispatch", "cali-fw-", "cali-po-", nft.In},
		{"cali-to-wl-dispatch", "cali-tw-", "cali-pi-", nft.Out},
	} {
		// The two dispatches are separate chains at the hook: packets that the first accepts
		// continue to the second. Felix uses packet marks for that.
		dispatch := fw.BaseChain(way.dispatch, nft.Forward, false)
		chains := writePolicies(fw, way.policy, count)
		for _, node := range h.Nodes {
			own := fw.Chain(way.chain + node.Port)
			dispatch.Rule(way.at(node.Port), nft.Jump(own))
			counting[node] = append(counting[node], own.Rule(nft.Established(), nft.Accept()))
			for i, policy := range chains {
				jump := own.Rule(nft.Jump(policy))
				if i == len(chains)-1 { // packets that get this far are allowed there
					counting[node] = append(counting[node], jump)
				}
			}
			own.Rule(nft.Drop())
		}
	}
	if err := n.Enforce(fw); err != nil {
		return err
	}
	for node, rules := range counting {
		n.policies[node] = plumb.RuleHop(h, "rules of "+node.Name(), network.Rule, rules...)
	}
	return nil
}

// writePolicies writes policies of which only the last rule of the last one matches.
func writePolicies(fw *nft.Firewall, name string, count int) []nft.Chain {
	chains := make([]nft.Chain, count)
	for i := range chains {
		chains[i] = fw.Chain(fmt.Sprintf("%s%d", name, i+1))
		for k := range rulesOfPolicy {
			if i == count-1 && k == rulesOfPolicy-1 {
				chains[i].Rule(nft.Accept())
				continue
			}
			port := firstUnused + i*rulesOfPolicy + k
			chains[i].Filler(nft.Ports(unix.IPPROTO_TCP, port, port), nft.Accept())
		}
	}
	return chains
}
