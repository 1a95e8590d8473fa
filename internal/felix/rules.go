package felix

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// Chains returns the names of felix's chains for the container behind a device of a host: of packets from it, and of packets
// to it.
func Chains(port string) []string { return []string{"cali-fw-" + port, "cali-tw-" + port} }

// Prefixes begin the names of the chains of policies: for packets to containers, and for packets from them.
const (
	Ingress = "cali-pi-"
	Egress  = "cali-po-"
)

// Tabled returns an error if a namespace lacks one of felix's firewall tables. Felix writes each of the four
// separately, for both IP versions, and a packet passes all of them.
func Tabled(host, ns string) error {
	there, err := nl.FirewallTables(ns)
	if err != nil {
		return err
	}
	for _, name := range []string{"raw", "mangle", "nat", "filter"} {
		if versions := record.Those(there, func(t nl.FirewallTable) bool { return t.Name == name }); len(versions) < 2 { // of IP
			return fmt.Errorf("felix on %s has not written the table %s of both IP versions", host, name)
		}
	}
	return nil
}

// Passed is the packets that chains have accepted, by name of the chain.
type Passed map[string]network.Count

// The programs that print a host's tables, for each IP version.
const save4, save6 = "iptables-nft-save", "ip6tables-nft-save"

// Read reads the counters of felix's rules in the filter table of a host. programs has the paths of Programs, by name.
func Read(ctx context.Context, h platform.Host, programs map[string]string, six bool) (Passed, error) {
	program := save4
	if six {
		program = save6
	}
	out, err := nsexec.Output(ctx, h, programs[program], "-c", "-t", "filter")
	if err != nil {
		return nil, err
	}
	return Parse(out)
}

// Parse sums the packets accepted by the rules of each chain: packets of known connections
// are accepted, those that a policy or a profile allows return. A line has the form [packets:bytes]
// -A CHAIN … -j TARGET.
func Parse(text string) (Passed, error) {
	all := Passed{}
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

// Sum returns the packets accepted by the named chains, all of which must exist.
func (p Passed) Sum(chains []string) (sum network.Count, err error) {
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

// Count counts the chains with rules whose names have a prefix.
func (p Passed) Count(prefix string) (chains int) {
	for name := range p {
		if strings.HasPrefix(name, prefix) {
			chains++
		}
	}
	return chains
}

// shelf is how long hops share what was read from a host. Programs that read rules take tens of
// milliseconds, and there are two hops for each container.
const shelf = 100 * time.Millisecond

// Rules are felix's rules on the hosts of a site, as hops.
type Rules struct {
	programs map[string]string
	shared   map[table]*plumb.Reading[Passed]
}

// table is a host's filter table for one IP version.
type table struct {
	host *plumb.Host
	six  bool
}

// RulesOf returns the rules on the hosts of a site. programs has the paths of Programs, by name.
func RulesOf(s *plumb.Site, programs map[string]string) Rules {
	r := Rules{programs, map[table]*plumb.Reading[Passed]{}}
	for _, h := range s.Hosts {
		for _, six := range []bool{false, true} {
			r.shared[table{h, six}] = &plumb.Reading[Passed]{}
		}
	}
	return r
}

// Hop counts the packets accepted by felix's rules for containers of one host.
func (r Rules) Hop(f network.Family, nodes ...*plumb.Node) network.Hop {
	h, six := nodes[0].Host, f == network.IPv6
	shared := r.shared[table{h, six}]
	names := record.Each(nodes, (*plumb.Node).Name)
	var all []string
	for _, node := range nodes {
		all = record.AddNew(all, Chains(node.Port)...) // containers of one pod share them
	}
	return network.Hop{
		Name: h.Name() + "/rules-of-" + strings.Join(names, "-and-"), Kind: network.Rule, Slow: true,
		Read: func(ctx context.Context) (network.Count, error) {
			passed, err := shared.Get(ctx, shelf, func(ctx context.Context) (Passed, error) { return Read(ctx, h, r.programs, six) })
			if err != nil {
				return network.Count{}, err
			}
			return passed.Sum(all)
		},
	}
}

// Path returns the paths between containers whose packets are routed and pass felix's rules. tunnel returns the device that
// leads to other hosts, which may be empty, and link is its kind; nil: there is none.
func (r Rules) Path(tunnel func(six bool) string, link string) func(from, to *plumb.Node, f network.Family) []network.Hop {
	across := plumb.Across(func(at *plumb.Node, _ *plumb.Host, f network.Family) []network.Hop {
		hops := []network.Hop{r.Hop(f, at)}
		if tunnel != nil {
			if device := tunnel(f == network.IPv6); device != "" {
				hops = append(hops, at.Host.Hop(device, link))
			}
		}
		return hops
	})
	return func(from, to *plumb.Node, f network.Family) []network.Hop {
		if from.Host != to.Host {
			return across(from, to, f)
		}
		// A packet that the rules of one container accept does not reach those of the other, so one hop
		// counts both.
		return []network.Hop{
			from.Hop(), from.PortHop(), r.Hop(f, from, to), plumb.Absent(from.Host.UplinkHop()), to.PortHop(), to.Hop(),
		}
	}
}
