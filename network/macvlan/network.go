// Package macvlan measures containers with macvlan devices in bridge mode on the
// host's uplink: each has an address of its own on the underlay's segment.
package macvlan

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is macvlan.
type Technique struct{}

// New gives the technique.
func New() Technique { return Technique{} }

// Name implements network.Technique.
func (Technique) Name() string { return "macvlan" }

// About implements network.Technique.
func (Technique) About() string {
	return "macvlan devices (bridge mode) of the host's uplink, one in each container"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{1, 2} }

// Probe implements network.Technique.
func (Technique) Probe(ctx context.Context, _ platform.Platform) error {
	return plumb.Check(ctx, plumb.Macvlan)
}
