package calico

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// chains returns the names of felix's chains for a container: of packets from it, and of packets to
// it.
func chains(n *plumb.Node) []string {
	return []string{"cali-fw-" + n.Port, "cali-tw-" + n.Port}
}

// rulesHop counts the packets accepted by felix's rules for containers of one host.
func (n *build) rulesHop(f network.Family, nodes ...*plumb.Node) network.Hop {
	h, six := nodes[0].Host, f == network.IPv6
	shared := n.shared[table{h, six}]
	var names, all []string
	for _, node := range nodes {
		names, all = append(names, node.Name()), append(all, chains(node)...)
	}
	return network.Hop{
		Name: h.Name() + "/rules-of-" + strings.Join(names, "-and-"), Kind: network.Rule,
		Read: func(ctx context.Context) (network.Count, error) {
			passed, err := shared.Get(ctx, shelf, func(ctx context.Context) (passed, error) { return n.passed(ctx, h, six) })
			if err != nil {
				return network.Count{}, err
			}
			return passed.sum(all)
		},
	}
}

// passed is the packets that chains have accepted, by name of the chain.
type passed map[string]network.Count

// The programs that print a host's tables, for each IP version.
const save4, save6 = "iptables-nft-save", "ip6tables-nft-save"

// passed reads the counters of felix's rules in a host's filter table.
func (n *build) passed(ctx context.Context, h *plumb.Host, six bool) (passed, error) {
	program := save4
	if six {
		program = save6
	}
	var out bytes.Buffer
	err := nsexec.Run(ctx, h, platform.Command{Path: n.Programs[program], Args: []string{"-c", "-t", "filter"}, Stdout: &out})
	if err != nil {
		return nil, err
	}
	return countPassed(out.String())
}

// countPassed sums the packets accepted by the rules of each chain: packets of known connections
// are accepted, those that a policy or a profile allows return. A line has the form [packets:bytes]
// -A CHAIN … -j TARGET.
func countPassed(text string) (passed, error) {
	all := passed{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		counters, rule, ok := strings.Cut(line, " -A ")
		if !ok {
			continue
		}
		chain, _, _ := strings.Cut(rule, " ")
		sum := all[chain]
		if strings.HasSuffix(rule, " -j ACCEPT") || strings.HasSuffix(rule, " -j RETURN") {
			var c network.Count
			if _, err := fmt.Sscanf(counters, "[%d:%d]", &c.Packets, &c.Bytes); err != nil {
				return nil, fmt.Errorf("unexpected counters in %q", line)
			}
			sum.Packets += c.Packets
			sum.Bytes += c.Bytes
		}
		all[chain] = sum
	}
	return all, nil
}

// sum returns the packets accepted by the named chains, all of which must exist.
func (p passed) sum(chains []string) (sum network.Count, err error) {
	for _, name := range chains {
		c, ok := p[name]
		if !ok {
			return sum, fmt.Errorf("felix has no rules in %s", name)
		}
		sum.Packets += c.Packets
		sum.Bytes += c.Bytes
	}
	return sum, nil
}

// shelf is how long hops share what was read from a host. Programs that read rules take tens of
// milliseconds, and there are two hops for each container.
const shelf = 100 * time.Millisecond

// table is a host's filter table for one IP version.
type table struct {
	host *plumb.Host
	six  bool
}

// readings returns an empty reading for every table of a site.
func readings(s *plumb.Site) map[table]*plumb.Reading[passed] {
	all := map[table]*plumb.Reading[passed]{}
	for _, h := range s.Hosts {
		for _, six := range []bool{false, true} {
			all[table{h, six}] = &plumb.Reading[passed]{}
		}
	}
	return all
}

// ruled returns an error if a host's rules lack policies. Felix writes those that apply to a
// container on the host, each as one chain for packets to containers and one for packets from them.
func (n *build) ruled(h *plumb.Host, rules passed) error {
	if len(h.Nodes) == 0 {
		return nil
	}
	for _, prefix := range []string{"cali-pi-", "cali-po-"} {
		if got := rules.count(prefix); got < n.tech.policies {
			return fmt.Errorf("felix on %s has written %d of %d policies (%s…)", h.Name(), got, n.tech.policies, prefix)
		}
	}
	return nil
}

// unruled returns an error if a host lacks policies, although felix wrote them: its packets then do
// not take the path that the network claims.
func (n *build) unruled(ctx context.Context) error {
	if n.tech.policies == 0 {
		return nil
	}
	for _, h := range n.Site.Hosts {
		for _, six := range []bool{false, true} {
			rules, err := n.passed(ctx, h, six)
			if err != nil {
				return fmt.Errorf("rules of %s: %w", h.Name(), err)
			}
			if err := n.ruled(h, rules); err != nil {
				return &network.WrongPath{Finding: err.Error()}
			}
		}
	}
	return nil
}

// count counts the chains with rules whose names have a prefix.
func (p passed) count(prefix string) (chains int) {
	for name := range p {
		if strings.HasPrefix(name, prefix) {
			chains++
		}
	}
	return chains
}
