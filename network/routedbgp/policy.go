package routedbgp

import (
	"context"
	"fmt"
	"regexp"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	policies      = 10 // that apply to each container, in either direction
	rulesOfPolicy = 10
	// firstUnused and those above are ports that no server of ours listens at.
	firstUnused = 1001
)

// enforce writes the rules that felix keeps for the containers of a host: a dispatch to
// the chain of the container that a packet comes from, and to that of the one it goes
// to. There packets of known connections are let through; others have to find a policy
// that allows them.
func (n *build) enforce(h *plumb.Host, count int) error {
	fw, err := nft.New(h.NS, "calico")
	if err != nil {
		return err
	}
	n.Push("hold on the namespace of the firewall", func(context.Context) error { return fw.Close() })
	counting := map[*plumb.Node][]nft.Rule{}
	for _, way := range []struct {
		dispatch, chain, policy string
		at                      func(string) nft.Part
	}{
		{"cali-from-wl-dispatch", "cali-fw-", "cali-po-", nft.In},
		{"cali-to-wl-dispatch", "cali-tw-", "cali-pi-", nft.Out},
	} {
		// The two are chains of their own at the hook: what the first accepts has the
		// second before it. Felix has packet marks for that.
		dispatch := fw.BaseChain(way.dispatch, nft.Forward, false)
		chains := writePolicies(fw, way.policy, count)
		for _, node := range h.Nodes {
			own := fw.Chain(way.chain + node.Port)
			dispatch.Rule(way.at(node.Port), nft.Jump(own))
			counting[node] = append(counting[node], own.Rule(nft.Established(), nft.Accept()))
			for i, policy := range chains {
				jump := own.Rule(nft.Jump(policy))
				if i == len(chains)-1 { // who comes so far is allowed there
					counting[node] = append(counting[node], jump)
				}
			}
			own.Rule(nft.Drop())
		}
	}
	if err := fw.Commit(); err != nil {
		return err
	}
	n.Rules = append(n.Rules, h.Name()+": "+shortened(fw.String()))
	n.Made("firewall rules", func(context.Context) error { return fw.Remove() })
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

// What there is of policies between the first and the tenth, and of rules between the
// first of a policy and its last.
var (
	furtherPolicies = regexp.MustCompile(`(?:\tchain cali-p[io]-[2-9] \{\n(?:\t\t.*\n)*\t\}\n)+`)
	furtherJumps    = regexp.MustCompile(`(?:\t\tcounter jump cali-p[io]-[2-9]\n)+`)
	furtherRules    = regexp.MustCompile(`(\t\ttcp dport .*\n)(?:\t\ttcp dport .*\n)+(\t\ttcp dport .*\n)`)
)

// shortened is a table for documentation, without these.
func shortened(table string) string {
	table = furtherPolicies.ReplaceAllString(table, "\t…\n")
	table = furtherJumps.ReplaceAllString(table, "\t\t…\n")
	return furtherRules.ReplaceAllString(table, "$1\t\t…\n$2")
}
