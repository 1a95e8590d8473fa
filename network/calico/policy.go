package calico

import (
	"context"
	"fmt"
	"strings"

	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	policies      = 10 // that apply to each container, in either direction
	rulesOfPolicy = 10
	// firstUnused and those above are ports that no server of ours listens at.
	firstUnused = 1001
)

// policy gives the rules of one of so many policies. Only the last of the last one matches.
func policy(i, of int) (rules []fields) {
	for k := range rulesOfPolicy {
		rule := fields{"action": "Allow", "protocol": "TCP", "destination": fields{"ports": []int{firstUnused + i*rulesOfPolicy + k}}}
		if i == of-1 && k == rulesOfPolicy-1 {
			rule = fields{"action": "Allow"}
		}
		rules = append(rules, rule)
	}
	return rules
}

// ruled says which policies a host's rules lack. Felix writes those that apply to a container
// there, each in a chain of what enters containers and one of what leaves them.
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

// unruled says which host lacks policies, although felix wrote them: what crosses it is not
// what the network claims.
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

// count is how many chains with rules have names that begin so.
func (p passed) count(prefix string) (chains int) {
	for name := range p {
		if strings.HasPrefix(name, prefix) {
			chains++
		}
	}
	return chains
}
