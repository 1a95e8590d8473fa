package ovs

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"nettoll/network"
)

// count gives every port a rule of its own that does what the bridge does without any: as
// a learning switch does. Its counters are the datapath's own, of what came in by
// the port. They stand for all that the datapath has carried, whatever the port is; of an
// internal port in a container ovs-vswitchd can tell nothing else.
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

// hop is what the datapath carried between two ports, both ways.
func (v *vswitch) hop(name string, ports ...int) network.Hop {
	return network.Hop{
		Name: v.host.Name() + "/" + bridge + ":" + name, Kind: network.Rule,
		Read: func(ctx context.Context) (sum network.Count, err error) {
			counts, err := v.counts.read(ctx, v.control())
			if err != nil {
				return sum, fmt.Errorf("%s: %w", v.daemon, err)
			}
			for _, p := range ports {
				c, ok := counts[p]
				if !ok {
					return sum, fmt.Errorf("%s has no rule for port %d any more", v.daemon, p)
				}
				sum.Packets += c.Packets
				sum.Bytes += c.Bytes
			}
			return sum, nil
		},
	}
}

// snapshot is the counters of all rules as they were a moment ago. A network with many
// pairs reads them for each.
type snapshot struct {
	mu     sync.Mutex
	at     time.Time
	counts map[int]network.Count
}

// fresh is how old a snapshot may be.
const fresh = 5 * time.Millisecond

func (s *snapshot) read(ctx context.Context, control string) (map[int]network.Count, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < fresh {
		return s.counts, nil
	}
	// The datapath's flows count, and revalidators add that to the rules' counters twice a
	// second. What flows have counted until now is added when they are forgotten; the next
	// packet makes a new one.
	if _, err := ask(ctx, control, "revalidator/purge"); err != nil {
		return nil, err
	}
	text, err := ask(ctx, control, "bridge/dump-flows", bridge)
	if err != nil {
		return nil, err
	}
	if s.counts, err = parseRules(text); err != nil {
		return nil, err
	}
	s.at = time.Now()
	return s.counts, nil
}

var rule = regexp.MustCompile(`n_packets=(\d+), n_bytes=(\d+),(?: priority=\d+,)? ?in_port=(\d+),`)

// parseRules reads the counters of rules by the port that they are for.
func parseRules(text string) (map[int]network.Count, error) {
	counts := map[int]network.Count{}
	for _, m := range rule.FindAllStringSubmatch(text, -1) {
		packets, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			return nil, err
		}
		bytes, err := strconv.ParseUint(m[2], 10, 64)
		if err != nil {
			return nil, err
		}
		port, err := strconv.Atoi(m[3])
		if err != nil {
			return nil, err
		}
		counts[port] = network.Count{Packets: packets, Bytes: bytes}
	}
	return counts, nil
}
