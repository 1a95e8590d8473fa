// Package routed measures containers whose hosts route between them without any
// encapsulation, as flannel's host-gw backend does: a bridge a host, and a route
// to the other hosts' containers over the underlay.
package routed

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is routed.
type Technique struct{}

// New gives the technique.
func New() Technique { return Technique{} }

// Name implements network.Technique.
func (Technique) Name() string { return "routed" }

// About implements network.Technique.
func (Technique) About() string {
	return "a bridge on each host and plain routes to the containers of the others (host-gw); no encapsulation, no rules"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{2} }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold.
func (Technique) MaxEndpoints() int { return plumb.MaxPorts }

// Probe implements network.Technique.
func (Technique) Probe(ctx context.Context, _ platform.Platform) error {
	return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice)
}
