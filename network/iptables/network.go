// Package iptables measures the oldest way to give containers addresses that
// others can reach: a macvlan device on the host carries each container's
// external address, and DNAT and SNAT rules lead to and from the container behind
// Docker's bridge, as in the measurements of 2014.
package iptables

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is iptables.
type Technique struct{}

// New gives the technique.
func New() Technique { return Technique{} }

// Name implements network.Technique.
func (Technique) Name() string { return "iptables" }

// About implements network.Technique.
func (Technique) About() string {
	return "each container has an external address on a macvlan device of the host; DNAT and SNAT lead to it behind a bridge"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{1, 2} }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold.
func (Technique) MaxEndpoints() int { return plumb.MaxPorts }

// Probe implements network.Technique.
func (Technique) Probe(ctx context.Context, _ platform.Platform) error {
	return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice, plumb.BridgeNetfilter, plumb.Macvlan, plumb.NAT)
}
