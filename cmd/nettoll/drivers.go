package main

import (
	"slices"
	"time"

	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/network/calico"
	"nettoll/network/docker"
	"nettoll/network/flannel"
	"nettoll/network/kernel"
	"nettoll/network/ovs"
	"nettoll/network/routedbgp"
	"nettoll/network/udpoverlay"
	"nettoll/network/weave"
	"nettoll/network/wireguard"
	"nettoll/platform/lab"
	"nettoll/workload"
	"nettoll/workload/engine"
	"nettoll/workload/iperf"
	"nettoll/workload/iperf3"
	"nettoll/workload/netperf"
	"nettoll/workload/nuttcp"
	"nettoll/workload/pgbench"
	"nettoll/workload/qperf"
	"nettoll/workload/redisbench"
	"nettoll/workload/sockperf"
	"nettoll/workload/wrk"
)

// venues is every platform that is compiled in, with its networks in the order of
// reports; the first is the default.
func venues(e engines) []venue {
	e = e.named()
	return prefixed([]venue{
		{
			platform: lab.New(), about: "private namespaces of this machine",
			drivers: slices.Concat(ofKernel(), ofPrograms(e.paths), e.cni.drivers()),
		},
		{
			platform: e.docker, about: "Docker engines: the user's, or private ones (--private-engine)",
			native: "native", usual: []string{"bridge", "published"}, visit: 400 * time.Millisecond, container: 200 * time.Millisecond,
			drivers: ofDocker(e.paths),
		},
		{
			platform: e.swarm, about: "Docker engines that are nodes of one swarm, likewise",
			native: "native", usual: []string{"overlay"}, visit: time.Second, container: 300 * time.Millisecond,
			drivers: docker.Swarm(),
		},
	})
}

// ofKernel need nothing but the kernel.
func ofKernel() []network.Driver {
	return slices.Concat(kernel.All(), []network.Driver{wireguard.New(), udpoverlay.NewTUN(), udpoverlay.NewPacket()})
}

// ofPrograms are made of programs, which paths says where to find.
func ofPrograms(paths program.Paths) []network.Driver {
	return slices.Concat(ovs.All(paths), flannel.All(paths), weave.All(paths), []network.Driver{
		routedbgp.New(paths), routedbgp.NewPolicy(paths),
		calico.NewBGP(paths), calico.NewPolicy(paths), calico.NewIPIP(paths), calico.NewVXLAN(paths),
		wireguard.NewUserspace(paths),
	})
}

// daemons are the programs of these, as --tool-path names them.
func daemons() []string {
	return []string{
		"ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-dpctl",
		"flanneld", "etcd", "wireguard-go", "wg", "ip", "weaver", "bird", "calico-felix",
	}
}

// ofDocker are Docker's own networks, and those of the lab that need nothing but
// the namespaces of containers.
func ofDocker(paths program.Paths) []network.Driver {
	return slices.Concat(docker.All(), []network.Driver{
		kernel.Veth(), kernel.PipeworkVeth(), kernel.PipeworkMacvlan(), kernel.IPTables(), kernel.VXLAN(), kernel.Routed(),
	}, ovs.All(paths), flannel.All(paths))
}

// toolsOfPrograms are the tools that are programs, in the order of lists.
func toolsOfPrograms() []program.Tool {
	return []program.Tool{
		iperf.Tool, iperf3.Tool, netperf.Tool, qperf.Tool, sockperf.Tool, nuttcp.Tool, wrk.Tool, redisbench.Tool, pgbench.Tool,
	}
}

// tools is every generator of traffic that is compiled in; paths says where programs
// are that are not in PATH.
func tools(paths program.Paths) []workload.Tool {
	all := []workload.Tool{engine.New()}
	for _, t := range toolsOfPrograms() {
		all = append(all, t.At(paths))
	}
	return all
}

// programs are those that tools start, as --tool-path names them.
func programs() (names []string) {
	for _, t := range toolsOfPrograms() {
		names = append(names, t.Names()...)
	}
	return names
}

func toolByName(paths program.Paths) map[string]workload.Tool {
	all := make(map[string]workload.Tool)
	for _, t := range tools(paths) {
		all[t.Name()] = t
	}
	return all
}
