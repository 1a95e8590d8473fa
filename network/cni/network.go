// Package cni measures what CNI plugins build: those that a conflist of the user's
// names, or the reference plugins in their usual settings. libcni calls them, as
// container runtimes do.
package cni

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is a conflist.
type Technique struct {
	in       Folders
	plugin   string    // the reference plugin that the conflist is made for; empty: it is the user's
	list     *Conflist // of the user's
	patience time.Duration
}

// longest is how long a plugin may take.
const longest = 30 * time.Second

// New gives a conflist of the user's.
func New(list *Conflist, in Folders) Technique {
	return Technique{in: in, list: list, patience: longest}
}

// NewBridge gives the plugin bridge: veth pairs on a bridge that is the gateway.
func NewBridge(in Folders) Technique { return reference("bridge", in) }

// NewPTP gives the plugin ptp: a veth pair and a route for each container.
func NewPTP(in Folders) Technique { return reference("ptp", in) }

// NewMacvlan gives the plugin macvlan, on the uplink.
func NewMacvlan(in Folders) Technique { return reference("macvlan", in) }

// NewIPvlan gives the plugin ipvlan, on the uplink.
func NewIPvlan(in Folders) Technique { return reference("ipvlan", in) }

func reference(plugin string, in Folders) Technique {
	return Technique{in: in, plugin: plugin, patience: longest}
}

// prefix is that of all names. Colons would stand behind a platform.
const prefix = "cni-"

// Name implements network.Technique. Names of networks have no capital letters.
func (t Technique) Name() string {
	if t.list != nil {
		return prefix + strings.ToLower(t.list.Name())
	}
	return prefix + t.plugin
}

// About implements network.Technique.
func (t Technique) About() string {
	switch t.plugin {
	case "bridge":
		return "the CNI plugin bridge with host-local: veth pairs on a Linux bridge that is the gateway, no rules"
	case "ptp":
		return "the CNI plugin ptp with host-local: a veth pair for each container, and the host routes between them"
	case "macvlan":
		return "the CNI plugin macvlan (bridge mode) with host-local, on the host's uplink"
	case "ipvlan":
		return "the CNI plugin ipvlan (L2 mode) with host-local, on the host's uplink"
	}
	return fmt.Sprintf("what the CNI plugins of the conflist %s build: %s", t.list.File, strings.Join(t.list.Types(), ", "))
}

// Hosts implements network.Technique. Whether a conflist of the user's leads from host to
// host is seen when it is built.
func (t Technique) Hosts() []int {
	if t.plugin == "bridge" || t.plugin == "ptp" {
		return []int{1}
	}
	return []int{1, 2}
}

// MaxEndpoints is how many containers one host can hold; 0 is as many as have an address.
func (t Technique) MaxEndpoints() int {
	if t.plugin == "bridge" {
		return plumb.MaxPorts
	}
	return 0
}

// Startup is about what the plugins take for a few containers.
func (Technique) Startup() time.Duration { return 150 * time.Millisecond }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if t.list != nil {
		return t.list.Check(t.in)
	}
	for _, plugin := range []string{t.plugin, "host-local"} {
		if err := t.in.missing(plugin); err != nil {
			return err
		}
	}
	switch t.plugin {
	case "macvlan":
		return plumb.Check(ctx, plumb.Macvlan)
	case "ipvlan":
		return plumb.Check(ctx, plumb.IPVlanL2)
	case "bridge":
		return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice)
	}
	return plumb.Check(ctx, plumb.Veth)
}
