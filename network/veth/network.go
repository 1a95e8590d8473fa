// Package veth measures containers that are joined by a veth pair and nothing
// else: no bridge, no host in between.
package veth

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is veth.
type Technique struct{}

// New gives the technique.
func New() Technique { return Technique{} }

// Name implements network.Technique.
func (Technique) Name() string { return "veth" }

// About implements network.Technique.
func (Technique) About() string {
	return "a veth pair straight between two containers, nothing in between"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{1} }

// Probe implements network.Technique.
func (Technique) Probe(ctx context.Context, _ platform.Platform) error {
	return plumb.Check(ctx, plumb.Veth)
}
