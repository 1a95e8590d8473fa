// Package ovs measures Open vSwitch as it ships: on each host ovsdb-server, ovs-vswitchd and a
// bridge of its own with the containers as ports, in the kernel's datapath or in the one
// in user space, and tunnels between hosts.
package ovs

import (
	"time"

	"context"

	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/platform"
)

// Technique is Open vSwitch with one of its datapaths.
type Technique struct {
	name     string
	about    string
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

// Name implements network.Technique.
func (t Technique) Name() string { return t.name }

// About implements network.Technique.
func (t Technique) About() string { return t.about }

// Hosts implements network.Technique.
func (t Technique) Hosts() []int {
	if t.tunnel == nil {
		return []int{1}
	}
	return []int{2}
}

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

// MaxEndpoints is how many containers one host can hold.
func (t Technique) MaxEndpoints() int {
	switch t.ports {
	case internal:
		return mostTaps
	case afxdp:
		return mostXDP
	}
	return mostPorts
}

// MaxMTU is the largest MTU that containers can have, in bytes; 0 is any.
func (t Technique) MaxMTU() int {
	if t.ports == afxdp {
		return maxXDP
	}
	return 0
}

// Startup is about what Open vSwitch's daemons take to start, and to end.
func (Technique) Startup() time.Duration { return 500 * time.Millisecond }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if _, err := find(t.paths); err != nil {
		return err
	}
	needs := []plumb.Need{plumb.Veth}
	switch {
	case t.datapath == userspace:
		needs = append(needs, plumb.TUN) // also bridges have a tap device
	case t.tunnel != nil:
		needs = append(needs, datapath, t.tunnel.need)
	default:
		needs = append(needs, datapath)
	}
	if err := plumb.Check(ctx, needs...); err != nil {
		return err
	}
	if t.ports == afxdp {
		return tryXDP()
	}
	return nil
}

// datapath is the kernel's.
var datapath = plumb.Datapath.Or("ovs-userspace")
