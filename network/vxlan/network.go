// Package vxlan measures the datapath that overlay networks share: on each host a
// bridge with the containers and a VXLAN device that carries their frames to the
// other hosts in UDP.
package vxlan

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is vxlan.
type Technique struct{}

// New gives the technique.
func New() Technique { return Technique{} }

// Name implements network.Technique.
func (Technique) Name() string { return "vxlan" }

// About implements network.Technique.
func (Technique) About() string {
	return "a bridge and a VXLAN device on each host, one segment over all hosts, as in Swarm's overlay; MTU 50 below the underlay's"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{2} }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold: one port of
// its bridge is the tunnel's.
func (Technique) MaxEndpoints() int { return plumb.MaxPorts - 1 }

// Probe implements network.Technique.
func (Technique) Probe(ctx context.Context, _ platform.Platform) error {
	return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice, plumb.VXLAN)
}
