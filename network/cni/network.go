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
	"nettoll/network"
)

// variant is a conflist.
type variant struct {
	network.Info
	in       Folders
	plugin   string    // the reference plugin that the conflist is made for; empty: it is the user's
	list     *Conflist // of the user's
	patience time.Duration
}

// longest is how long a plugin may take.
const longest = 30 * time.Second

// prefix is that of all names. Colons would stand behind a platform.
const prefix = "cni-"

// New is a conflist of the user's. Whether it leads from host to host is seen when it is built.
func New(list *Conflist, in Folders) network.Driver { return users(list, in).driver() }

func users(list *Conflist, in Folders) variant {
	return variant{in: in, list: list, patience: longest, Info: network.Info{
		Name: prefix + strings.ToLower(list.Name()), Hosts: []int{1, 2}, // names of networks have no capital letters
		About: fmt.Sprintf("what the CNI plugins of the conflist %s build: %s", list.File, strings.Join(list.Types(), ", ")),
	}}
}

// NewBridge is the plugin bridge: veth pairs on a bridge that is the gateway.
func NewBridge(in Folders) network.Driver {
	return reference("bridge", in, network.Info{
		Hosts: []int{1}, Endpoints: plumb.MaxPorts,
		About: "the CNI plugin bridge with host-local: veth pairs on a Linux bridge that is the gateway, no rules",
	}, plumb.Veth, plumb.BridgeDevice)
}

// NewPTP is the plugin ptp: a veth pair and a route for each container.
func NewPTP(in Folders) network.Driver {
	return reference("ptp", in, network.Info{
		Hosts: []int{1},
		About: "the CNI plugin ptp with host-local: a veth pair for each container, and the host routes between them",
	}, plumb.Veth)
}

// NewMacvlan is the plugin macvlan, on the uplink.
func NewMacvlan(in Folders) network.Driver {
	return reference("macvlan", in, network.Info{
		Hosts: []int{1, 2},
		About: "the CNI plugin macvlan (bridge mode) with host-local, on the host's uplink",
	}, plumb.Macvlan)
}

// NewIPvlan is the plugin ipvlan, on the uplink.
func NewIPvlan(in Folders) network.Driver {
	return reference("ipvlan", in, network.Info{
		Hosts: []int{1, 2},
		About: "the CNI plugin ipvlan (L2 mode) with host-local, on the host's uplink",
	}, plumb.IPVlanL2)
}

func reference(plugin string, in Folders, i network.Info, needs ...plumb.Need) network.Driver {
	i.Name = prefix + plugin
	return variant{in: in, plugin: plugin, patience: longest, Info: i}.driver(needs...)
}

func (v variant) driver(needs ...plumb.Need) network.Driver {
	v.Startup = 150 * time.Millisecond // of the plugins, for a few containers
	return plumb.Recipe{Info: v.Info, Needs: needs, Have: v.have, Build: v.build}.Driver()
}

func (v variant) have(context.Context) error {
	if v.list != nil {
		return v.list.Check(v.in)
	}
	for _, plugin := range []string{v.plugin, "host-local"} {
		if err := v.in.missing(plugin); err != nil {
			return err
		}
	}
	return nil
}
