package main

import (
	"slices"
	"strings"
	"sync"
	"time"

	"nettoll/internal/program"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/network/calico"
	"nettoll/network/docker"
	"nettoll/network/flannel"
	"nettoll/network/kernel"
	"nettoll/network/kubeproxy"
	"nettoll/network/kubernetes"
	"nettoll/network/ovs"
	"nettoll/network/pasta"
	"nettoll/network/routedbgp"
	overssh "nettoll/network/ssh"
	"nettoll/network/udpoverlay"
	"nettoll/network/weave"
	"nettoll/network/wireguard"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
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

// catalogue returns every platform that is compiled in, with its networks in the order of reports. The first is the
// default.
func catalogue(e engines) []platformNetworks {
	e = e.named()
	return completed([]platformNetworks{
		{
			platform: lab.New(), about: "private namespaces of this machine",
			drivers: slices.Concat(ofKernel(), ofPrograms(e.paths), e.cni.drivers()),
		},
		{
			platform: e.docker, about: "Docker engines: the user's, or private ones", with: "--private-engine",
			plan:    plan.Platform{Native: "native", Usual: []string{"bridge", "published"}, Visit: 400 * time.Millisecond, Container: 200 * time.Millisecond},
			drivers: ofDocker(e.paths),
		},
		{
			platform: e.swarm, about: "Docker engines that are nodes of one swarm: the user's, or private ones", with: "--private-engine",
			plan:    plan.Platform{Native: "native", Usual: []string{"overlay"}, Visit: time.Second, Container: 300 * time.Millisecond},
			drivers: docker.Swarm(),
		},
		{
			platform: e.ssh, about: "your machines, reached by ssh", with: "--hosts-ssh",
			plan:    plan.Platform{Native: "native", Usual: []string{"native"}, Visit: 450 * time.Millisecond},
			drivers: overssh.All(),
		},
		{
			platform: e.kube, about: "Kubernetes clusters: the user's, or private ones", with: "--private-cluster",
			plan:    plan.Platform{Native: "native", Usual: []string{"pod", "service"}, Visit: 5 * time.Second, Container: 500 * time.Millisecond},
			drivers: kubernetes.All(),
		},
	})
}

// ofKernel returns networks that need only the kernel.
func ofKernel() []network.Driver {
	return slices.Concat(kernel.All(), []network.Driver{wireguard.New(), udpoverlay.NewTUN(), udpoverlay.NewPacket()})
}

// ofPrograms returns networks that need programs, which paths locates.
func ofPrograms(paths program.Paths) []network.Driver {
	return slices.Concat(ovs.All(paths), flannel.All(paths), weave.All(paths), []network.Driver{
		routedbgp.New(paths), routedbgp.NewPolicy(paths),
	}, calico.All(paths), kubeproxy.All(paths), []network.Driver{wireguard.NewUserspace(paths), pasta.New(paths)})
}

// daemons are the programs of the networks of ofPrograms, and of clusters, as --tool-path names them.
func daemons() []string {
	return append([]string{
		"ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-dpctl",
		"flanneld", "wireguard-go", "wg", "pasta", "ip", "weaver", "bird", "calico-felix", "calico-cni",
	}, kube.Programs()...)
}

// ofDocker returns Docker's own networks, and those of the lab that need only the namespaces of containers.
func ofDocker(paths program.Paths) []network.Driver {
	return slices.Concat(docker.All(), []network.Driver{
		kernel.Veth(), kernel.PipeworkVeth(), kernel.PipeworkMacvlan(), kernel.IPTables(), kernel.VXLAN(), kernel.Routed(),
	}, ovs.All(paths), flannel.All(paths))
}

// toolsOfPrograms returns the tools that are programs, in the order of lists.
func toolsOfPrograms() []program.Tool {
	return []program.Tool{
		iperf.Tool, iperf3.Tool, netperf.Tool, qperf.Tool, sockperf.Tool, nuttcp.Tool, wrk.Tool, redisbench.Tool, pgbench.Tool,
	}
}

// tools returns every generator of traffic that is compiled in; paths locates programs that are not in PATH.
func tools(paths program.Paths) []workload.Tool {
	at := func(t program.Tool) workload.Tool { return t.At(paths) }
	return append([]workload.Tool{engine.New()}, record.Each(toolsOfPrograms(), at)...)
}

// programs returns the programs that tools start, as --tool-path names them.
func programs() []string {
	return slices.Concat(record.Each(toolsOfPrograms(), program.Tool.Names)...)
}

func toolByName(paths program.Paths) map[string]workload.Tool {
	all := make(map[string]workload.Tool)
	for _, t := range tools(paths) {
		all[t.Name] = t
	}
	return all
}

// platformNetworks is a platform with the drivers of the networks that are built on it.
type platformNetworks struct {
	platform platform.Platform
	about    string // in a few words
	with     string // the flag that starts or names its hosts, empty for the default platform
	plan     plan.Platform
	drivers  []network.Driver
	prefix   string // of its networks' names; empty for the default platform
}

// completed adds what the platforms say of themselves, and the prefix of the networks of all but the first.
func completed(all []platformNetworks) []platformNetworks {
	for i := range all {
		v := &all[i]
		says := v.platform.Info()
		v.plan.Name, v.plan.AtOnce, v.plan.Crowd = says.Name, says.AtOnce, says.Crowd
		if i > 0 {
			v.prefix = says.Name + ":"
		}
	}
	return all
}

// name returns the name that cells use for the network of a driver.
func (v platformNetworks) name(d network.Driver) string { return v.prefix + d.Name }

// planned returns what the planner needs to know of a driver's network.
func (v platformNetworks) planned(d network.Driver) plan.Network {
	return plan.Network{
		Name: d.Name, Hosts: d.Hosts, Families: d.Families, Platforms: []string{v.plan.Name},
		Like: d.Like, Endpoints: d.Endpoints, Overflow: d.Overflow, Single: d.Single, Apart: d.Apart, Relays: d.Relays, Carried: d.Carried, Has: d.Has, Startup: d.Startup,
	}
}

// names returns the names of all its networks.
func (v platformNetworks) names() []string { return record.Each(v.drivers, v.name) }

// find finds a driver by the name of its network on this platform.
func (v platformNetworks) find(name string) (network.Driver, bool) {
	return record.First(v.drivers, func(d network.Driver) bool { return d.Name == name })
}

// platforms are those of the catalogue, to be named only.
var platforms = sync.OnceValue(func() []platformNetworks { return catalogue(engines{}) })

// platformOf returns the platform of the network of a cell, to be named only.
func platformOf(network string) platform.Platform {
	i := slices.IndexFunc(platforms(), func(v platformNetworks) bool { return v.prefix != "" && strings.HasPrefix(network, v.prefix) })
	return platforms()[max(i, 0)].platform // without a prefix, that is the default platform
}

// isOn reports whether the network of a cell is on a platform of that type.
func isOn[P platform.Platform](network string) bool {
	_, is := platformOf(network).(P)
	return is
}

// betweenMachines reports whether a network can connect machines of the user's.
func betweenMachines(name string) bool {
	return slices.ContainsFunc(platforms(), func(v platformNetworks) bool {
		return slices.ContainsFunc(v.drivers, func(d network.Driver) bool { return d.Between && v.name(d) == name })
	})
}

// cellsOn returns the cells whose networks are on platforms of that type.
func cellsOn[P platform.Platform](cells []record.Cell) []record.Cell {
	return record.Those(cells, func(c record.Cell) bool { return isOn[P](c.Network) })
}

// recipes returns all networks, by their names in cells.
func recipes(e engines) map[string]runner.Recipe {
	all := make(map[string]runner.Recipe)
	for _, v := range catalogue(e) {
		for _, t := range v.drivers {
			all[v.name(t)] = runner.Recipe{Platform: v.platform, Driver: t}
		}
	}
	return all
}

// namesOf collects names from each platform, in the order of platforms.
func namesOf(of func(platformNetworks) []string) []string {
	return slices.Concat(record.Each(platforms(), of)...)
}

// networkNames returns the names of all networks.
func networkNames() []string { return namesOf(platformNetworks.names) }

// wholeNames returns the arguments of run that mean all networks of a platform.
func wholeNames() []string {
	return namesOf(func(v platformNetworks) []string { return []string{v.prefix + "all"} })
}

func platformNames() []string {
	return namesOf(func(v platformNetworks) []string { return []string{v.plan.Name} })
}

// usualNames returns the platforms whose names stand for networks where a network is expected.
func usualNames() []string {
	return namesOf(func(v platformNetworks) []string {
		if len(v.plan.Usual) == 0 {
			return nil
		}
		return []string{v.plan.Name}
	})
}
