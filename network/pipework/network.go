// Package pipework measures what the pipework script does: an extra interface
// with a fixed address is plumbed into a container that has none, by a veth pair
// to a bridge of its own, or by a macvlan device.
package pipework

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is pipework in one of its modes.
type Technique struct {
	macvlan bool
}

// NewVeth gives the mode of "pipework br1 CONTAINER ADDRESS".
func NewVeth() Technique { return Technique{} }

// NewMacvlan gives the mode of "pipework eth0 CONTAINER ADDRESS".
func NewMacvlan() Technique { return Technique{macvlan: true} }

// Name implements network.Technique.
func (t Technique) Name() string {
	if t.macvlan {
		return "pipework-macvlan"
	}
	return "pipework-veth"
}

// About implements network.Technique.
func (t Technique) About() string {
	if t.macvlan {
		return "an extra interface eth1 with a fixed address in each container: a macvlan device of the host's uplink"
	}
	return "an extra interface eth1 with a fixed address in each container: a veth pair to a bridge br1 without rules, br_netfilter as the kernel starts it"
}

// Hosts implements network.Technique.
func (t Technique) Hosts() []int {
	if t.macvlan {
		return []int{1, 2}
	}
	return []int{1}
}

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (t Technique) Overflow() bool { return !t.macvlan }

// MaxEndpoints is how many containers one host can hold; 0 is any number.
func (t Technique) MaxEndpoints() int {
	if t.macvlan {
		return 0
	}
	return plumb.MaxPorts
}

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if t.macvlan {
		return plumb.Check(ctx, plumb.Macvlan)
	}
	return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice)
}
