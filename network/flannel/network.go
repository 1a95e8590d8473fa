// Package flannel measures the networks of flannel: the real flanneld on each host, which gets the
// host's subnet from a real etcd and routes to those of the other hosts by one of its backends.
// Containers are on a bridge configured from what flanneld wrote.
package flannel

import (
	"cmp"
	"context"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/flanneld"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// variant is flannel with one of its backends.
type variant struct {
	network.Info
	backend
	paths program.Paths
}

// All returns every variant, in the order of reports.
func All(paths program.Paths) []network.Driver {
	return record.Each(variants(paths), variant.driver)
}

func variants(paths program.Paths) []variant {
	all := []variant{
		{backend: udp, Info: network.Info{Name: "flannel-udp", Carried: true,
			About: "flannel's udp backend: packets go through a TUN device to flanneld, which carries them in UDP; its first and slowest way"}},
		{backend: vxlan, Info: network.Info{Name: "flannel-vxlan",
			About: "flannel's vxlan backend: a VXLAN device whose neighbours flanneld keeps; MTU 50 below the underlay's"}},
		{backend: hostGateway, Info: network.Info{Name: "flannel-host-gw",
			About: "flannel's host-gw backend: plain routes to the subnets of the other hosts; no encapsulation"}},
		{backend: wireguard, Info: network.Info{Name: "flannel-wireguard",
			About: "flannel's wireguard backend: packets are encrypted by the kernel's WireGuard devices; MTU 80 below the underlay's"}},
		{backend: wireguardGo, Info: network.Info{Name: "flannel-wireguard-go", Carried: true,
			About: "flannel's extension backend with WireGuard in user space: wireguard-go encrypts the packets of a TUN device"}},
		{backend: awsVPC, Info: network.Info{Name: "flannel-aws-vpc",
			About: "flannel's aws-vpc backend: routes in the cloud's table, no encapsulation; on the hosts the datapath of flannel-host-gw"}},
		{backend: gce, Info: network.Info{Name: "flannel-gce",
			About: "flannel's gce backend: routes in the cloud's table, no encapsulation; on the hosts the datapath of flannel-host-gw"}},
	}
	for i := range all {
		v := &all[i]
		v.paths, v.Hosts, v.Families = paths, []int{2}, []int{4}
		if v.six {
			v.Families = []int{4, 6}
		}
		v.Endpoints, v.Overflow, v.Startup = plumb.MaxPorts, true, time.Second
	}
	return all
}

func (v variant) driver() network.Driver { return v.recipe().Driver() }

func (v variant) recipe() plumb.Recipe {
	r := plumb.Recipe{
		Info: v.Info, Needs: append([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.BridgeNetfilter}, v.needs...), Have: v.have,
		Build: func(ctx context.Context, n *plumb.Network) error {
			_, err := v.build(ctx, n)
			return err
		},
	}
	if v.cloud == "" {
		r.Paths = v.paths
		r.Programs = append([]daemon.Program{
			daemon.EtcdProgram,
			// flanneld runs these two from PATH.
			{Name: "iptables", Get: platform.Install("iptables"), InPath: true}, {Name: "ip6tables", Get: platform.Install("iptables"), InPath: true},
			flanneld.Program,
		}, v.programs...)
	}
	return r
}

func (v variant) have(context.Context) error {
	if v.cloud != "" {
		return &platform.Unsupported{
			Feature: v.Name, Option: "the route table of " + v.cloud,
			Remedy: "run flannel on instances of " + v.cloud + "; its datapath is that of flannel-host-gw, which can be measured",
		}
	}
	return nil
}

// backend is one of flannel's ways from host to host.
type backend struct {
	kind  string // flannel's name for it
	six   bool   // whether it carries IPv6, too
	cloud string // the cloud in whose route table it writes routes, if any
	// The devices that lead to the other hosts' containers, and filters for the payload on the
	// underlay (see network.Network.Wire), for each IP version. Empty ones mean the uplink, and
	// packets without encapsulation.
	device4, device6, wire4, wire6 string
	link                           string // the kind of the devices
	adds                           int    // bytes of the outer headers of a program, over IPv4
	// carries reports whether flanneld itself carries the payload.
	carries bool
	// userspace reports whether wireguard-go does. The name of its device differs from host to
	// host.
	userspace bool
	needs     []plumb.Need
	programs  []daemon.Program // in addition to flanneld's own
	// overhead is the largest number of bytes that it takes off the underlay's MTU.
	overhead int
}

var (
	udp = backend{
		kind: "udp", device4: "flannel0", link: "tuntap", adds: 28, carries: true, wire4: "udp port 8285", needs: []plumb.Need{plumb.TUN},
		overhead: 28, // outer IPv4 20, UDP 8
	}
	vxlan = backend{
		kind: "vxlan", six: true, device4: "flannel.1", device6: "flannel-v6.1", link: "vxlan", needs: []plumb.Need{plumb.VXLAN},
		wire4: "udp dst port 8472", wire6: "udp dst port 8472", // Linux's port, not IANA's
		overhead: 70, // outer IPv6 40, UDP 8, VXLAN 8, inner Ethernet 14
	}
	hostGateway = backend{kind: "host-gw", six: true}
	wireguard   = backend{
		kind: "wireguard", six: true, device4: "flannel-wg", device6: "flannel-wg-v6", link: "wireguard", wire4: "udp port 51820", wire6: "udp port 51821",
		needs: []plumb.Need{plumb.WireGuard}, overhead: wireguardOverhead,
	}
	wireguardGo = backend{
		kind: "extension", userspace: true, link: "tuntap", adds: 60, wire4: "udp port 51820", needs: []plumb.Need{plumb.TUN},
		programs: []daemon.Program{
			{Name: "wireguard-go", Get: "make tools"}, {Name: "wg", Get: platform.Install("wireguard-tools")}, {Name: "ip", Get: platform.Install("iproute2")},
		},
	}
	awsVPC = backend{kind: "aws-vpc", cloud: "Amazon EC2"}
	gce    = backend{kind: "gce", cloud: "Google Compute Engine"}
)

// leads returns the device that leads to the other hosts' containers.
func (b backend) leads(h *plumb.Host, six bool) string {
	device := b.device4
	switch {
	case b.userspace:
		device = h.Tunnel
	case six:
		device = b.device6
	}
	return cmp.Or(device, h.Uplink().Device)
}

func (b backend) wire(f network.Family) string {
	if f == network.IPv6 {
		return cmp.Or(b.wire6, plumb.Bare(f))
	}
	return cmp.Or(b.wire4, plumb.Bare(f))
}

// bare reports whether packets cross the underlay without encapsulation.
func (b backend) bare() bool { return b.wire4 == "" }

// families runs fn for each IP version that the backend carries, until one fails.
func (b backend) families(fn func(six bool) error) error {
	if err := fn(false); err != nil || !b.six {
		return err
	}
	return fn(true)
}
