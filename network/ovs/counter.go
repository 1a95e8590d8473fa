package ovs

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"nettoll/network"
)

// count gives every port a rule of its own with the default action of the bridge, that of a
// learning switch. The rule has the datapath's own counters of packets that came in by the port.
// They cover everything that the datapath has carried, for every kind of port; of an internal port
// in a container, ovs-vswitchd has no other counters.
func (v *vswitch) count(ctx context.Context, ports []int) error {
	var rules strings.Builder
	for _, p := range ports {
		fmt.Fprintf(&rules, "in_port=%d,actions=NORMAL\n", p)
	}
	file := v.file("rules")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		return err
	}
	return v.run(ctx, "ovs-ofctl", "--timeout=30", "add-flows", "unix:"+v.file(bridge+".mgmt"), file)
}

// hop counts the packets that the datapath carried between two ports, both ways.
func (v *vswitch) hop(name string, ports ...int) network.Hop {
	return network.Hop{
		Name: v.host.Name() + "/" + bridge + ":" + name, Kind: network.Rule,
		Read: func(ctx context.Context) (sum network.Count, err error) {
			counts, err := v.counts.Get(ctx, fresh, v.read)
			if err != nil {
				return sum, fmt.Errorf("%s: %w", v.daemon, err)
			}
			for _, p := range ports {
				c, ok := counts[p]
				if !ok {
					return sum, fmt.Errorf("%s no longer has a rule for port %d", v.daemon, p)
				}
				sum.Packets += c.Packets
				sum.Bytes += c.Bytes
			}
			return sum, nil
		},
	}
}

// fresh is how old the rules' counters may be to be shared between hops: a network with many pairs
// reads them for each.
const fresh = 5 * time.Millisecond

// read reads the counters of all rules, by port.
func (v *vswitch) read(ctx context.Context) (map[int]network.Count, error) {
	// The datapath's flows count, and revalidators add their counts to the rules' counters twice
	// per second. A purge adds the counts and removes the flows; the next packet makes a new one.
	if _, err := ask(ctx, v.control(), "revalidator/purge"); err != nil {
		return nil, err
	}
	text, err := ask(ctx, v.control(), "bridge/dump-flows", bridge)
	if err != nil {
		return nil, err
	}
	return parseRules(text)
}

var rule = regexp.MustCompile(`n_packets=(\d+), n_bytes=(\d+),(?: priority=\d+,)? ?in_port=(\d+),`)

// parseRules parses the counters of rules, by port.
func parseRules(text string) (map[int]network.Count, error) {
	counts := map[int]network.Count{}
	for _, m := range rule.FindAllStringSubmatch(text, -1) {
		var port int
		var c network.Count
		if _, err := fmt.Sscan(strings.Join(m[1:], " "), &c.Packets, &c.Bytes, &port); err != nil {
			return nil, fmt.Errorf("unexpected counters in %q: %w", m[0], err)
		}
		counts[port] = c
	}
	return counts, nil
}
