// Package wireguard measures containers behind hosts that encrypt what goes between them
// with WireGuard: the kernel's device, or the program wireguard-go on each host.
package wireguard

import (
	"context"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/platform"
)

// Technique is WireGuard in one of its variants.
type Technique struct {
	userspace bool
	paths     program.Paths
}

// New gives the variant with the kernel's device.
func New() Technique { return Technique{} }

// NewUserspace gives the variant with the program wireguard-go.
func NewUserspace(paths program.Paths) Technique { return Technique{userspace: true, paths: paths} }

// Name implements network.Technique.
func (t Technique) Name() string {
	if t.userspace {
		return programName
	}
	return "wireguard"
}

// About implements network.Technique.
func (t Technique) About() string {
	if t.userspace {
		return "a bridge on each host, and WireGuard between the hosts by the program wireguard-go, over a TUN device; MTU 80 below the underlay's"
	}
	return "a bridge on each host, and WireGuard between the hosts by the kernel; MTU 80 below the underlay's"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{2} }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold.
func (Technique) MaxEndpoints() int { return plumb.MaxPorts }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if !t.userspace {
		return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice, plumb.WireGuard)
	}
	if err := daemon.Available(); err != nil {
		return err
	}
	if _, err := t.find(); err != nil {
		return err
	}
	return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice, plumb.TUN)
}

// programName is the program that a device in user space needs.
const programName = "wireguard-go"

func (t Technique) find() (string, error) { return t.paths.Locate(programName, "make tools") }
