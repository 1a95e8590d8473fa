// Package routedbgp measures Calico's datapath, built by hand: no bridge, a route to each
// container over its own veth device, and routes to the other hosts' containers that BIRD
// learns by BGP. Variants have the rules that felix writes for network policies in
// front of each container.
package routedbgp

import (
	"time"

	"context"
	"fmt"

	"nettoll/internal/bird"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/platform"
)

// Technique is routed-bgp, with policies or without.
type Technique struct {
	paths    program.Paths
	policies int // in front of each container
}

// New gives the variant without policies.
func New(paths program.Paths) Technique { return Technique{paths: paths} }

// NewPolicy gives the variant with policies.
func NewPolicy(paths program.Paths) Technique { return Technique{paths: paths, policies: policies} }

// Name implements network.Technique.
func (t Technique) Name() string {
	if t.policies > 0 {
		return "routed-bgp-policy"
	}
	return "routed-bgp"
}

// About implements network.Technique.
func (t Technique) About() string {
	about := "Calico's datapath by hand: a route to each container over its own veth device (proxy ARP, no bridge), and BIRD, which tells the other hosts of it by BGP"
	if t.policies > 0 {
		about += fmt.Sprintf("; each new connection passes %d network policies of %d rules where it leaves a container, and as many where it enters one", t.policies, rulesOfPolicy)
	}
	return about
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{1, 2} }

// Startup is about what BIRD takes on several hosts to start and to agree, and to end.
func (Technique) Startup() time.Duration { return 2 * time.Second }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if _, err := bird.Find(t.paths); err != nil {
		return err
	}
	if t.policies > 0 {
		return plumb.Check(ctx, plumb.Veth, plumb.NAT) // with the latter, rules of nf_tables work
	}
	return plumb.Check(ctx, plumb.Veth)
}
