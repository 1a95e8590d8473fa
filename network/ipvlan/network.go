// Package ipvlan measures containers with ipvlan devices on the host's uplink:
// like macvlan, but all share the uplink's MAC address, and packets are told
// apart by their IP address.
package ipvlan

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is ipvlan in one of its modes.
type Technique struct {
	layer3 bool
}

// NewL2 gives the mode in which containers share a segment.
func NewL2() Technique { return Technique{} }

// NewL3 gives the mode in which the host routes between containers.
func NewL3() Technique { return Technique{layer3: true} }

// Name implements network.Technique.
func (t Technique) Name() string {
	if t.layer3 {
		return "ipvlan-l3"
	}
	return "ipvlan-l2"
}

// About implements network.Technique.
func (t Technique) About() string {
	if t.layer3 {
		return "ipvlan devices (L3 mode) of the host's uplink, one in each container, routed by the host"
	}
	return "ipvlan devices (L2 mode) of the host's uplink, one in each container"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{1, 2} }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if t.layer3 {
		return plumb.Check(ctx, plumb.IPVlanL3)
	}
	return plumb.Check(ctx, plumb.IPVlanL2)
}
