// Package flannel measures the networks that flannel makes: the real flanneld on each
// host, which gets the host's subnet from a real etcd and leads to those of the other
// hosts by one of its backends; containers are on a bridge with what flanneld wrote.
package flannel

import (
	"context"
	"time"

	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/platform"
)

// variant is flannel with one of its backends.
type variant struct {
	network.Info
	backend
	paths program.Paths
}

// All is every variant, in the order of reports.
func All(paths program.Paths) (drivers []network.Driver) {
	for _, v := range variants(paths) {
		drivers = append(drivers, v.driver())
	}
	return drivers
}

func variants(paths program.Paths) []variant {
	all := []variant{
		{backend: udp, Info: network.Info{Name: "flannel-udp",
			About: "flannel's udp backend: packets go through a TUN device to flanneld, which carries them in UDP; its first and slowest way"}},
		{backend: vxlan, Info: network.Info{Name: "flannel-vxlan",
			About: "flannel's vxlan backend: a VXLAN device whose neighbours flanneld keeps; MTU 50 below the underlay's"}},
		{backend: hostGateway, Info: network.Info{Name: "flannel-host-gw",
			About: "flannel's host-gw backend: plain routes to the subnets of the other hosts; no encapsulation"}},
		{backend: wireguard, Info: network.Info{Name: "flannel-wireguard",
			About: "flannel's wireguard backend: packets are encrypted by the kernel's WireGuard devices; MTU 80 below the underlay's"}},
		{backend: wireguardGo, Info: network.Info{Name: "flannel-wireguard-go",
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

func (v variant) driver() network.Driver {
	return plumb.Recipe{
		Info: v.Info, Needs: append([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.BridgeNetfilter}, v.needs...), Have: v.have,
		Build: func(ctx context.Context, n *plumb.Network) error {
			_, err := v.build(ctx, n)
			return err
		},
	}.Driver()
}

func (v variant) have(context.Context) error {
	if v.cloud != "" {
		return &platform.Unsupported{
			Feature: v.Name, Option: "the route table of " + v.cloud,
			Remedy: "run flannel on instances of " + v.cloud + "; its datapath is that of flannel-host-gw, which is measured",
		}
	}
	_, err := v.find()
	return err
}
