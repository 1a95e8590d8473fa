// Package flannel measures the networks that flannel makes: the real flanneld on each
// host, which gets the host's subnet from a real etcd and leads to those of the other
// hosts by one of its backends; containers are on a bridge with what flanneld wrote.
package flannel

import (
	"time"

	"context"

	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/platform"
)

// Technique is flannel with one of its backends.
type Technique struct {
	backend
	name, about string
	paths       program.Paths
}

// All is every variant, in the order of reports.
func All(paths program.Paths) []Technique {
	all := []Technique{
		{backend: udp, name: "flannel-udp",
			about: "flannel's udp backend: packets go through a TUN device to flanneld, which carries them in UDP; its first and slowest way"},
		{backend: vxlan, name: "flannel-vxlan",
			about: "flannel's vxlan backend: a VXLAN device whose neighbours flanneld keeps; MTU 50 below the underlay's"},
		{backend: hostGateway, name: "flannel-host-gw",
			about: "flannel's host-gw backend: plain routes to the subnets of the other hosts; no encapsulation"},
		{backend: wireguard, name: "flannel-wireguard",
			about: "flannel's wireguard backend: packets are encrypted by the kernel's WireGuard devices; MTU 80 below the underlay's"},
		{backend: wireguardGo, name: "flannel-wireguard-go",
			about: "flannel's extension backend with WireGuard in user space: wireguard-go encrypts the packets of a TUN device"},
		{backend: awsVPC, name: "flannel-aws-vpc",
			about: "flannel's aws-vpc backend: routes in the cloud's table, no encapsulation; on the hosts the datapath of flannel-host-gw"},
		{backend: gce, name: "flannel-gce",
			about: "flannel's gce backend: routes in the cloud's table, no encapsulation; on the hosts the datapath of flannel-host-gw"},
	}
	for i := range all {
		all[i].paths = paths
	}
	return all
}

// Name implements network.Technique.
func (t Technique) Name() string { return t.name }

// About implements network.Technique.
func (t Technique) About() string { return t.about }

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{2} }

// Families are the IP versions that it carries: flannel's older backends know but one.
func (t Technique) Families() []int {
	if t.six {
		return []int{4, 6}
	}
	return []int{4}
}

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold.
func (Technique) MaxEndpoints() int { return plumb.MaxPorts }

// Startup is about what etcd and flanneld take to start, and to end.
func (Technique) Startup() time.Duration { return time.Second }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if t.cloud != "" {
		return &platform.Unsupported{
			Feature: t.name, Option: "the route table of " + t.cloud,
			Remedy: "run flannel on instances of " + t.cloud + "; its datapath is that of flannel-host-gw, which is measured",
		}
	}
	if _, err := t.find(); err != nil {
		return err
	}
	return plumb.Check(ctx, append([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.BridgeNetfilter}, t.needs...)...)
}
