// Package ovs measures Open vSwitch as it ships: on each host ovsdb-server, ovs-vswitchd and a
// bridge of its own with the containers as ports, in the kernel's datapath or in the one
// in user space, and tunnels between hosts.
package ovs

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/platform"
)

// variant is Open vSwitch with one of its datapaths.
type variant struct {
	network.Info
	datapath string // as Open vSwitch calls it: system or netdev
	ports    ports
	tunnel   *tunnel // nil on one host
	paths    program.Paths
}

// The datapaths of Open vSwitch.
const (
	kernel    = "system"
	userspace = "netdev"
)

const (
	// mostPorts is how many ports a broadcast can reach: it is sent to all of them at once,
	// and what exceeds a CPU's backlog (net.core.netdev_max_backlog, 1000) is dropped.
	mostPorts = 900
	// mostTaps is how many internal ports are worth waiting for: ovs-vswitchd looks at all of
	// them when one is moved.
	mostTaps = 200
	// mostXDP is how many ports with AF_XDP are worth their memory: each takes 50 MB.
	mostXDP = 32
)

func (v variant) driver() network.Driver {
	needs := []plumb.Need{plumb.Veth}
	switch {
	case v.datapath == userspace:
		needs = append(needs, plumb.TUN) // also bridges have a tap device
	case v.tunnel != nil:
		needs = append(needs, datapath, v.tunnel.need)
	default:
		needs = append(needs, datapath)
	}
	r := plumb.Recipe{
		Info: v.Info, Needs: needs,
		Have: func(context.Context) error {
			_, err := find(v.paths)
			return err
		},
		Build: func(ctx context.Context, n *plumb.Network) error {
			_, err := v.build(ctx, n)
			return err
		},
	}
	if v.ports == afxdp {
		r.Try = func(context.Context, platform.Platform) error { return tryXDP() }
	}
	return r.Driver()
}

// datapath is the kernel's.
var datapath = plumb.Datapath.Or("ovs-userspace")
