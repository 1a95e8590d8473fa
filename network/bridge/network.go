// Package bridge measures what Docker's default network does: containers on a
// Linux bridge by veth pairs, with Docker's rules in front of them, or without.
package bridge

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is a bridge.
type Technique struct {
	netfilter bool
}

// New gives the bridge as Docker makes it.
func New() Technique { return Technique{netfilter: true} }

// NewWithoutNetfilter gives a bridge whose packets meet no rule.
func NewWithoutNetfilter() Technique { return Technique{} }

// Name implements network.Technique.
func (t Technique) Name() string {
	if t.netfilter {
		return "bridge"
	}
	return "bridge-nonf"
}

// About implements network.Technique.
func (t Technique) About() string {
	if t.netfilter {
		return "veth pairs on a Linux bridge with Docker's forward, isolation and masquerade rules, br_netfilter on"
	}
	return "the same bridge and rules, but br_netfilter off: bridged packets meet no rule"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{1} }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold.
func (Technique) MaxEndpoints() int { return plumb.MaxPorts }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	needs := []plumb.Need{plumb.Veth, plumb.BridgeDevice}
	if t.netfilter {
		needs = append(needs, plumb.NAT, plumb.BridgeNetfilter)
	}
	return plumb.Check(ctx, needs...)
}
