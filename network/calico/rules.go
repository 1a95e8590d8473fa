package calico

import (
	"context"
	"fmt"

	"nettoll/internal/felix"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// ruled returns an error if a host's rules lack policies. Felix writes those that apply to a
// container on the host, each as one chain for packets to containers and one for packets from them.
func (n *build) ruled(h *plumb.Host, rules felix.Passed) error {
	if len(h.Nodes) == 0 {
		return nil
	}
	for _, prefix := range []string{felix.Ingress, felix.Egress} {
		if got := rules.Count(prefix); got < n.tech.policies {
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
			rules, err := felix.Read(ctx, h, n.Programs, six)
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
