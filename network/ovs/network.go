// Package ovs measures Open vSwitch as shipped: on each host ovsdb-server, ovs-vswitchd and a
// bridge with the containers as ports, in the datapath of the kernel or in that of user space, and
// tunnels between hosts.
package ovs

import (
	"context"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// variant is Open vSwitch with one of its datapaths.
type variant struct {
	network.Info
	datapath string // Open vSwitch's name: system or netdev
	ports    ports
	tunnel   *tunnel // nil on one host
	paths    program.Paths
}

// The datapaths of Open vSwitch.
const (
	kernel    = "system"
	userspace = "netdev"
)

const (
	// mostPorts is how many ports a broadcast can reach: it is sent to all of them at once, and
	// packets beyond a CPU's backlog (net.core.netdev_max_backlog, 1000) are dropped.
	mostPorts = 900
	// mostTaps is how many internal ports are worth waiting for: whenever one is moved,
	// ovs-vswitchd checks all of them.
	mostTaps = 200
	// mostXDP is how many AF_XDP ports are worth their memory: each takes 50 MB.
	mostXDP = 32
)

func (v variant) driver() network.Driver { return v.recipe().Driver() }

func (v variant) recipe() plumb.Recipe {
	needs := []plumb.Need{plumb.Veth}
	switch {
	case v.datapath == userspace:
		needs = append(needs, plumb.TUN) // bridges have a tap device, too
		if v.tunnel != nil {
			needs = append(needs, plumb.Filter) // see silence
		}
	case v.tunnel != nil:
		needs = append(needs, datapath, v.tunnel.need)
	default:
		needs = append(needs, datapath)
	}
	r := plumb.Recipe{
		Info: v.Info, Needs: needs, Programs: programs, Paths: v.paths,
		Build: func(ctx context.Context, n *plumb.Network) error {
			_, err := v.build(ctx, n)
			return err
		},
	}
	if v.ports == afxdp {
		r.Try = func(context.Context, platform.Platform) error { return tryXDP() }
	}
	return r
}

// programs are those of Open vSwitch. When all are missing, the error names the first,
// ovs-vswitchd.
var programs = []daemon.Program{
	{Name: "ovs-vswitchd", Get: getOVS}, {Name: "ovsdb-server", Get: getOVS}, {Name: "ovsdb-tool", Get: getOVS},
	{Name: "ovs-vsctl", Get: getOVS}, {Name: "ovs-ofctl", Get: getOVS}, {Name: "ovs-dpctl", Get: getOVS},
}

var getOVS = platform.Install("openvswitch-switch")

// datapath is the kernel's datapath. Where it is missing, the error recommends ovs-userspace.
var datapath = plumb.Datapath.Or("ovs-userspace")

// All returns every variant, in the order of reports. paths has the programs that are not in PATH.
func All(paths program.Paths) []network.Driver {
	return record.Each(variants(paths), variant.driver)
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
			Info:     network.Info{Name: "ovs-userspace-afxdp", About: "an Open vSwitch bridge in the user-space datapath with AF_XDP ports on veth devices whose offloads are off, one host", Apart: true},
			datapath: userspace, ports: afxdp, // they are polled without a pause, by a thread of ovs-vswitchd
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
		v.paths, v.Hosts, v.Startup, v.Endpoints, v.Carried = paths, []int{1}, 500*time.Millisecond, mostPorts, v.datapath == userspace
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

// tryXDP makes what every AF_XDP port needs: a socket, and a map that directs an XDP program to it.
// Only those who may load such programs may make the map.
func tryXDP() error {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return unsupportedXDP(os.NewSyscallError("socket", err))
	}
	defer unix.Close(fd)
	attr := struct{ kind, keySize, valueSize, entries, flags uint32 }{unix.BPF_MAP_TYPE_XSKMAP, 4, 4, 1, 0}
	m, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return unsupportedXDP(os.NewSyscallError("bpf", errno))
	}
	return unix.Close(int(m))
}

func unsupportedXDP(err error) error {
	return &platform.Unsupported{
		Feature: "AF_XDP sockets", Option: "CONFIG_XDP_SOCKETS, and root", Err: err,
		Remedy: "run as root on a kernel that has CONFIG_XDP_SOCKETS; ovs-userspace does without",
	}
}
