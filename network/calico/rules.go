package calico

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"nettoll/internal/plumb"
	"nettoll/internal/process"
	"nettoll/network"
	"nettoll/platform"
)

// chains are felix's for a container: of what comes from it and of what goes to it.
func chains(n *plumb.Node) []string {
	return []string{"cali-fw-" + n.Port, "cali-tw-" + n.Port}
}

// rulesHop counts what felix's rules for containers of one host let through.
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
			passed, err := shared.get(ctx, func(ctx context.Context) (passed, error) { return n.passed(ctx, h, six) })
			if err != nil {
				return network.Count{}, err
			}
			return passed.sum(all)
		},
	}
}

// passed is what chains have let through, by their names.
type passed map[string]network.Count

// passed reads what felix has put into a host's table of filters.
func (n *build) passed(ctx context.Context, h *plumb.Host, six bool) (passed, error) {
	path := n.programs.save4
	if six {
		path = n.programs.save6
	}
	var out bytes.Buffer
	err := process.Run(ctx, h, platform.Command{Path: path, Args: []string{"-c", "-t", "filter"}, Stdout: &out})
	if err != nil {
		return nil, err
	}
	return countPassed(out.String())
}

// countPassed adds up what the rules of chains let through: packets of known connections
// are accepted, those that a policy or a profile allows return. A line is
// [packets:bytes] -A CHAIN … -j TARGET.
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

// sum is what so many chains have let through, which have to be there.
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
