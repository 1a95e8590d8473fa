// Package host measures what has no container network: processes of the hosts
// themselves. On one host it is Docker's host mode and the native of every
// technique on one host; between two hosts it is the native of those.
package host

import (
	"context"

	"nettoll/platform"
)

// Technique is host or native.
type Technique struct {
	name, about string
	hosts       int
}

// New gives the native of one host.
func New() Technique {
	return Technique{
		name:  "host",
		about: "a host talks to its own address, as containers in host mode do; the native of one host",
		hosts: 1,
	}
}

// NewNative gives the native of two hosts.
func NewNative() Technique {
	return Technique{
		name:  "native",
		about: "a host talks to another over the underlay, no container; the native of two hosts",
		hosts: 2,
	}
}

// Name implements network.Technique.
func (t Technique) Name() string { return t.name }

// About implements network.Technique.
func (t Technique) About() string { return t.about }

// Hosts implements network.Technique.
func (t Technique) Hosts() []int { return []int{t.hosts} }

// Probe implements network.Technique: where there are hosts there is this.
func (Technique) Probe(context.Context, platform.Platform) error { return nil }
