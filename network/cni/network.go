// Package cni measures networks that CNI plugins build: the plugins of a user's conflist, or the
// reference plugins in their usual settings. libcni calls them, as container runtimes do.
package cni

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/record"
)

// variant is a conflist.
type variant struct {
	network.Info
	in       Folders
	plugin   string // the reference plugin that the conflist is made for; empty for a user's conflist
	needs    []plumb.Need
	list     *Conflist // the user's, if there is one
	patience time.Duration
}

// longest is how long a plugin may take.
const longest = 30 * time.Second

// prefix begins all names. A colon would mark the name of a platform.
const prefix = "cni-"

// New returns the driver of a user's conflist. Whether it connects hosts shows when it is built.
func New(list *Conflist, in Folders) network.Driver { return users(list, in).driver() }

func users(list *Conflist, in Folders) variant {
	return variant{in: in, list: list, patience: longest, Info: network.Info{
		Name: prefix + strings.ToLower(list.Name()), Hosts: []int{1, 2}, // names of networks have no capital letters
		About: fmt.Sprintf("what the CNI plugins of the conflist %s build: %s", list.File, strings.Join(list.Types(), ", ")),
	}}
}

// Reference returns the drivers of the reference plugins in their usual settings, in the order of
// reports.
func Reference(in Folders) (drivers []network.Driver) {
	for _, v := range []variant{
		{plugin: "bridge", needs: []plumb.Need{plumb.Veth, plumb.BridgeDevice}, Info: network.Info{
			Hosts: []int{1}, Endpoints: plumb.MaxPorts,
			About: "the CNI plugin bridge with host-local: veth pairs on a Linux bridge that is the gateway, no rules",
		}},
		{plugin: "ptp", needs: []plumb.Need{plumb.Veth}, Info: network.Info{
			Hosts: []int{1},
			About: "the CNI plugin ptp with host-local: a veth pair for each container, and the host routes between them",
		}},
		{plugin: "macvlan", needs: []plumb.Need{plumb.Macvlan}, Info: network.Info{
			Hosts: []int{1, 2},
			About: "the CNI plugin macvlan (bridge mode) with host-local, on the host's uplink",
		}},
		{plugin: "ipvlan", needs: []plumb.Need{plumb.IPVlanL2}, Info: network.Info{
			Hosts: []int{1, 2},
			About: "the CNI plugin ipvlan (L2 mode) with host-local, on the host's uplink",
		}},
	} {
		v.in, v.patience, v.Name = in, longest, prefix+v.plugin
		drivers = append(drivers, v.driver())
	}
	return drivers
}

func (v variant) driver() network.Driver {
	v.Startup = 150 * time.Millisecond // of the plugins, for a few containers
	return plumb.Recipe{Info: v.Info, Needs: v.needs, Have: v.have, Build: v.build}.Driver()
}

func (v variant) have(context.Context) error {
	if v.list != nil {
		return v.list.Check(v.in)
	}
	return record.Try([]string{v.plugin, "host-local"}, v.in.missing)
}
