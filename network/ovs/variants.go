package ovs

import "nettoll/internal/program"

// All are the variants, in the order of reports; paths says where programs are that are
// not in PATH.
func All(paths program.Paths) []Technique {
	all := []Technique{
		{
			name: "ovs", datapath: kernel, ports: veth,
			about: "an Open vSwitch bridge in the kernel's datapath with veth ports, one host",
		},
		{
			name: "ovs-vxlan", datapath: kernel, ports: veth, tunnel: vxlan,
			about: "Open vSwitch in the kernel's datapath on each host, joined by VXLAN tunnels; MTU 50 below the underlay's",
		},
		{
			name: "ovs-geneve", datapath: kernel, ports: veth, tunnel: geneve,
			about: "Open vSwitch in the kernel's datapath on each host, joined by Geneve tunnels; MTU 58 below the underlay's",
		},
		{
			name: "ovs-userspace", datapath: userspace, ports: bareVeth,
			about: "an Open vSwitch bridge in the user-space datapath with veth ports whose offloads are off, one host",
		},
		{
			name: "ovs-userspace-tso", datapath: userspace, ports: internal,
			about: "an Open vSwitch bridge in the user-space datapath with userspace-tso-enable; " +
				"its internal (tap) ports are the containers' devices; one host",
		},
		{
			name: "ovs-userspace-afxdp", datapath: userspace, ports: afxdp,
			about: "an Open vSwitch bridge in the user-space datapath with AF_XDP ports on veth devices whose offloads are off, one host",
		},
		{
			name: "ovs-userspace-vxlan", datapath: userspace, ports: bareVeth, tunnel: vxlan,
			about: "Open vSwitch in the user-space datapath on each host, with the uplink as a port, " +
				"joined by VXLAN tunnels; MTU 50 below the underlay's",
		},
		{
			name: "ovs-userspace-geneve", datapath: userspace, ports: bareVeth, tunnel: geneve,
			about: "Open vSwitch in the user-space datapath on each host, with the uplink as a port, " +
				"joined by Geneve tunnels; MTU 58 below the underlay's",
		},
	}
	for i := range all {
		all[i].paths = paths
	}
	return all
}
