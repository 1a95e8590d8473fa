// Package calico measures Calico: felix, which writes the routes and the rules of each container in
// etcd, and BIRD, which announces the routes to the other hosts by BGP. Packets cross the underlay
// unencapsulated, in IPIP or in VXLAN. The work of Calico's CNI plugin and of its node container
// (devices, and objects in etcd) is done here.
package calico

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nettoll/internal/bird"
	"nettoll/internal/daemon"
	"nettoll/internal/felix"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
)

// variant is Calico with one of its ways between hosts, with or without policies.
type variant struct {
	network.Info
	paths    program.Paths
	way      way
	need     []plumb.Need // of the way
	policies int          // applied to each container
}

// way is how packets cross the underlay.
type way struct {
	wire             string // see network.Network.Wire; empty if packets are not encapsulated
	device4, device6 string // the tunnels between hosts
	link             string // their kind
	overhead         int    // of the tunnels, in bytes
}

var (
	bgp = way{}
	// An outer IPv4 header. The kernel makes the device in each namespace when the module is
	// loaded, unless configured otherwise.
	ipip = way{wire: "ip proto 4", device4: "tunl0", link: "ipip", overhead: 20}
	// IANA's port for VXLAN. The overhead is that of IPv6, the larger one: outer IP 40, UDP 8,
	// VXLAN 8, inner Ethernet 14. Felix gives all containers the smaller MTU.
	vxlan = way{wire: "udp dst port 4789", device4: "vxlan.calico", device6: "vxlan-v6.calico", link: "vxlan", overhead: 70}
)

const plain = "Calico: felix's routes and rules for each container, BIRD between hosts, no encapsulation"

// All returns every variant, in the order of reports.
func All(paths program.Paths) (drivers []network.Driver) {
	for _, v := range []variant{
		{way: bgp, Info: network.Info{Name: "calico-bgp", Hosts: []int{1, 2}, About: plain}},
		{way: bgp, policies: policies, Info: network.Info{Name: "calico-bgp-policy",
			About: plain + fmt.Sprintf("; each new connection passes %d network policies of %d rules where it leaves a container, and as many where it enters one", policies, rulesOfPolicy)}},
		// The kernel's IPIP tunnels carry IPv4 only.
		{way: ipip, need: []plumb.Need{plumb.IPIP}, Info: network.Info{Name: "calico-ipip", Families: []int{4},
			About: "Calico: felix's routes and rules for each container, BIRD and IPIP tunnels between hosts; MTU 20 below the underlay's"}},
		{way: vxlan, need: []plumb.Need{plumb.VXLAN}, Info: network.Info{Name: "calico-vxlan",
			About: "Calico: felix's routes and rules for each container, and its VXLAN tunnels between hosts; MTU 70 below the underlay's, as that over IPv6 needs"}},
	} {
		v.paths = paths
		drivers = append(drivers, v.driver())
	}
	return drivers
}

func (v variant) driver() network.Driver {
	v.Apart = true              // felix wakes 500 times a second: over the native network beside it, a transaction took a tenth less
	v.Startup = 3 * time.Second // of etcd, felix and BIRD, which have to converge
	if v.Hosts == nil {
		// On one host all ways are the same, and bgp stands for them.
		v.Hosts = []int{2}
	}
	if v.Families == nil {
		v.Families = []int{4, 6}
	}
	programs := append(slices.Clone(felix.Programs), daemon.EtcdProgram)
	if v.way != vxlan { // with VXLAN, felix itself routes to the other hosts
		programs = append(programs, bird.Program)
	}
	return plumb.Recipe{
		Info: v.Info, Needs: append([]plumb.Need{plumb.Veth}, v.need...), Programs: programs, Paths: v.paths,
		Build: func(ctx context.Context, on *plumb.Network) error {
			n := &build{tech: v, Network: on}
			n.Hops, n.OnWire, n.Check = felix.RulesOf(n.Site, n.Programs).Path(n.device, v.way.link), n.onWire, n.lost
			n.routes = plumb.Routes{Site: n.Site, Families: v.families(), Block: block, Device: n.toward}
			return n.build(ctx)
		},
	}.Driver()
}

// families returns the IP versions that the variant carries; true is IPv6.
func (v variant) families() []bool {
	if v.way == ipip {
		return []bool{false}
	}
	return []bool{false, true}
}
