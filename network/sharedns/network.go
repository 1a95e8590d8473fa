// Package sharedns measures containers that share one network namespace, as with
// docker run --network container:NAME or the containers of a Kubernetes pod.
package sharedns

import (
	"context"

	"nettoll/platform"
)

// Technique is sharedns.
type Technique struct{}

// New gives the technique.
func New() Technique { return Technique{} }

// Name implements network.Technique.
func (Technique) Name() string { return "sharedns" }

// About implements network.Technique.
func (Technique) About() string {
	return "containers share one network namespace, as in a pod, and talk over its lo"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{1} }

// Probe implements network.Technique.
func (Technique) Probe(context.Context, platform.Platform) error { return nil }
