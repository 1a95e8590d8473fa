package ovs

import (
	"time"

	"nettoll/internal/program"
	"nettoll/network"
)

// All are the variants, in the order of reports; paths says where programs are that are
// not in PATH.
func All(paths program.Paths) (drivers []network.Driver) {
	for _, v := range variants(paths) {
		drivers = append(drivers, v.driver())
	}
	return drivers
}

func variants(paths program.Paths) []variant {
	all := []variant{
		{
			Info:     network.Info{Name: "ovs", About: "an Open vSwitch bridge in the kernel's datapath with veth ports, one host"},
			datapath: kernel, ports: veth,
		},
		{
			Info:     network.Info{Name: "ovs-vxlan", About: "Open vSwitch in the kernel's datapath on each host, joined by VXLAN tunnels; MTU 50 below the underlay's"},
			datapath: kernel, ports: veth, tunnel: vxlan,
		},
		{
			Info:     network.Info{Name: "ovs-geneve", About: "Open vSwitch in the kernel's datapath on each host, joined by Geneve tunnels; MTU 58 below the underlay's"},
			datapath: kernel, ports: veth, tunnel: geneve,
		},
		{
			Info:     network.Info{Name: "ovs-userspace", About: "an Open vSwitch bridge in the user-space datapath with veth ports whose offloads are off, one host"},
			datapath: userspace, ports: bareVeth,
		},
		{
			Info: network.Info{Name: "ovs-userspace-tso", About: "an Open vSwitch bridge in the user-space datapath with userspace-tso-enable; " +
				"its internal (tap) ports are the containers' devices; one host"},
			datapath: userspace, ports: internal,
		},
		{
			Info:     network.Info{Name: "ovs-userspace-afxdp", About: "an Open vSwitch bridge in the user-space datapath with AF_XDP ports on veth devices whose offloads are off, one host"},
			datapath: userspace, ports: afxdp,
		},
		{
			Info: network.Info{Name: "ovs-userspace-vxlan", About: "Open vSwitch in the user-space datapath on each host, with the uplink as a port, " +
				"joined by VXLAN tunnels; MTU 50 below the underlay's"},
			datapath: userspace, ports: bareVeth, tunnel: vxlan,
		},
		{
			Info: network.Info{Name: "ovs-userspace-geneve", About: "Open vSwitch in the user-space datapath on each host, with the uplink as a port, " +
				"joined by Geneve tunnels; MTU 58 below the underlay's"},
			datapath: userspace, ports: bareVeth, tunnel: geneve,
		},
	}
	for i := range all {
		v := &all[i]
		v.paths, v.Hosts, v.Startup, v.Endpoints = paths, []int{1}, 500*time.Millisecond, mostPorts
		if v.tunnel != nil {
			v.Hosts = []int{2}
		}
		switch v.ports {
		case internal:
			v.Endpoints = mostTaps
		case afxdp:
			v.Endpoints, v.MTU = mostXDP, maxXDP
		}
	}
	return all
}
