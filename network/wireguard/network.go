// Package wireguard measures containers behind hosts that encrypt what goes between them
// with WireGuard: the kernel's device, or the program wireguard-go on each host.
package wireguard

import (
	"context"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
)

// variant is WireGuard in one of its ways.
type variant struct {
	network.Info
	userspace bool
	paths     program.Paths
}

// New is WireGuard by the kernel's device.
func New() network.Driver {
	return variant{Info: network.Info{
		Name:  "wireguard",
		About: "a bridge on each host, and WireGuard between the hosts by the kernel; MTU 80 below the underlay's",
	}}.driver(plumb.WireGuard)
}

// NewUserspace is WireGuard by the program wireguard-go.
func NewUserspace(paths program.Paths) network.Driver {
	return variant{userspace: true, paths: paths, Info: network.Info{
		Name:  programName,
		About: "a bridge on each host, and WireGuard between the hosts by the program wireguard-go, over a TUN device; MTU 80 below the underlay's",
	}}.driver(plumb.TUN)
}

func (v variant) driver(need plumb.Need) network.Driver {
	v.Hosts, v.Endpoints, v.Overflow = []int{2}, plumb.MaxPorts, true
	return plumb.Recipe{Info: v.Info, Needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice, need}, Have: v.have, Build: v.build}.Driver()
}

// have looks for the program.
func (v variant) have(context.Context) error {
	if !v.userspace {
		return nil
	}
	if err := daemon.Available(); err != nil {
		return err
	}
	_, err := v.find()
	return err
}

// programName is the program that a device in user space needs.
const programName = "wireguard-go"

func (v variant) find() (string, error) { return v.paths.Locate(programName, "make tools") }
