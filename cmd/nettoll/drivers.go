package main

import (
	"slices"
	"time"

	"nettoll/internal/program"
	"nettoll/platform/lab"
	"nettoll/technique"
	"nettoll/technique/bridge"
	"nettoll/technique/calico"
	"nettoll/technique/docker"
	"nettoll/technique/flannel"
	"nettoll/technique/host"
	"nettoll/technique/iptables"
	"nettoll/technique/ipvlan"
	"nettoll/technique/loopback"
	"nettoll/technique/macvlan"
	"nettoll/technique/ovs"
	"nettoll/technique/pipework"
	"nettoll/technique/published"
	"nettoll/technique/routed"
	"nettoll/technique/routedbgp"
	"nettoll/technique/sharedns"
	"nettoll/technique/tunnel"
	"nettoll/technique/udpoverlay"
	"nettoll/technique/veth"
	"nettoll/technique/vxlan"
	"nettoll/technique/weave"
	"nettoll/technique/wireguard"
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

// venues is every platform that is compiled in, with its techniques in the order of
// reports; the first is the default.
func venues(e engines) []venue {
	e = e.named()
	return prefixed([]venue{
		{
			platform: lab.New(), about: "private namespaces of this machine",
			techniques: slices.Concat(kernelTechniques(), daemonTechniques(e.paths), e.cni.techniques()),
		},
		{
			platform: e.docker, about: "Docker engines: the user's, or private ones (--private-engine)",
			native: "native", usual: []string{"bridge", "published"}, visit: 400 * time.Millisecond, container: 200 * time.Millisecond,
			techniques: dockerTechniques(e.paths),
		},
		{
			platform: e.swarm, about: "Docker engines that are nodes of one swarm, likewise",
			native: "native", usual: []string{"overlay"}, visit: time.Second, container: 300 * time.Millisecond,
			techniques: anyOf(docker.Swarm()),
		},
	})
}

// kernelTechniques need nothing but the kernel.
func kernelTechniques() []technique.Technique {
	return []technique.Technique{
		loopback.New(),
		host.New(),
		host.NewNative(),
		sharedns.New(),
		veth.New(),
		bridge.New(),
		bridge.NewWithoutNetfilter(),
		macvlan.New(),
		ipvlan.NewL2(),
		ipvlan.NewL3(),
		pipework.NewVeth(),
		pipework.NewMacvlan(),
		iptables.New(),
		published.New(),
		published.NewProxy(),
		vxlan.New(),
		routed.New(),
		tunnel.NewIPIP(),
		tunnel.NewGRE(),
		tunnel.NewGeneve(),
		tunnel.NewIPsec(),
		wireguard.New(),
		udpoverlay.NewTUN(),
		udpoverlay.NewPacket(),
	}
}

// daemonTechniques are made of programs, which paths says where to find.
func daemonTechniques(paths program.Paths) []technique.Technique {
	return slices.Concat(
		anyOf(ovs.All(paths)),
		anyOf(flannel.All(paths)),
		anyOf(weave.All(paths)),
		[]technique.Technique{
			routedbgp.New(paths), routedbgp.NewPolicy(paths),
			calico.NewBGP(paths), calico.NewPolicy(paths), calico.NewIPIP(paths), calico.NewVXLAN(paths),
			wireguard.NewUserspace(paths),
		},
	)
}

// daemons are the programs of these, as --tool-path names them.
func daemons() []string {
	return []string{
		"ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-dpctl",
		"flanneld", "etcd", "wireguard-go", "wg", "ip", "weaver", "bird", "calico-felix",
	}
}

// dockerTechniques are Docker's own networks, and those of the lab that need nothing but
// the namespaces of containers.
func dockerTechniques(paths program.Paths) []technique.Technique {
	return slices.Concat(
		anyOf(docker.All()),
		[]technique.Technique{veth.New(), pipework.NewVeth(), pipework.NewMacvlan(), iptables.New(), vxlan.New(), routed.New()},
		anyOf(ovs.All(paths)),
		anyOf(flannel.All(paths)),
	)
}

func anyOf[T technique.Technique](variants []T) (all []technique.Technique) {
	for _, t := range variants {
		all = append(all, t)
	}
	return all
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
