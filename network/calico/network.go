// Package calico measures Calico: felix, which writes the routes and the rules of each
// container that etcd tells it of, and BIRD, which tells the other hosts by BGP. Packets
// cross the underlay as they are, in IPIP or in VXLAN. What Calico's CNI plugin
// and its node container would do besides (devices, and objects in etcd) is done here.
package calico

import (
	"context"
	"fmt"
	"time"

	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
)

// variant is Calico in one of its ways between hosts, with policies or without.
type variant struct {
	network.Info
	paths    program.Paths
	way      way
	policies int // that apply to each container
}

// way is how packets cross the underlay.
type way string

const (
	bgp   way = "bgp" // as they are
	ipip  way = "ipip"
	vxlan way = "vxlan"
)

const plain = "Calico: felix's routes and rules for each container, BIRD between hosts, no encapsulation"

// NewBGP is Calico without encapsulation.
func NewBGP(paths program.Paths) network.Driver {
	return variant{paths: paths, way: bgp, Info: network.Info{Name: "calico-bgp", Hosts: []int{1, 2}, About: plain}}.driver()
}

// NewPolicy is Calico without encapsulation, with policies. On one host all ways are the same.
func NewPolicy(paths program.Paths) network.Driver {
	return variant{paths: paths, way: bgp, policies: policies, Info: network.Info{
		Name: "calico-bgp-policy", Hosts: []int{2},
		About: plain + fmt.Sprintf("; each new connection passes %d network policies of %d rules where it leaves a container, and as many where it enters one", policies, rulesOfPolicy),
	}}.driver()
}

// NewIPIP is Calico with the kernel's IPIP tunnels, which have none but IPv4.
func NewIPIP(paths program.Paths) network.Driver {
	return variant{paths: paths, way: ipip, Info: network.Info{
		Name: "calico-ipip", Hosts: []int{2}, Families: []int{4},
		About: "Calico: felix's routes and rules for each container, BIRD and IPIP tunnels between hosts; MTU 20 below the underlay's",
	}}.driver(plumb.IPIP)
}

// NewVXLAN is Calico with the kernel's VXLAN tunnels.
func NewVXLAN(paths program.Paths) network.Driver {
	return variant{paths: paths, way: vxlan, Info: network.Info{
		Name: "calico-vxlan", Hosts: []int{2},
		About: "Calico: felix's routes and rules for each container, and its VXLAN tunnels between hosts; MTU 70 below the underlay's, as that over IPv6 needs",
	}}.driver(plumb.VXLAN)
}

func (v variant) driver(further ...plumb.Need) network.Driver {
	v.Startup = 3 * time.Second // of etcd, felix and BIRD, which have to agree
	if v.Families == nil {
		v.Families = []int{4, 6}
	}
	return plumb.Recipe{
		Info: v.Info, Needs: append([]plumb.Need{plumb.Veth}, further...),
		Have: func(context.Context) error {
			_, err := v.programs()
			return err
		},
		Build: func(ctx context.Context, on *plumb.Network) error {
			n := &build{tech: v, Network: on}
			n.Hops, n.OnWire, n.Check, n.shared = n.hops, n.onWire, n.lost, readings(n.Site)
			n.routes = plumb.Routes{Site: n.Site, Families: n.families(), Block: block, Device: n.toward}
			return n.build(ctx)
		},
	}.Driver()
}

// six says whether it carries IPv6.
func (v variant) six() bool { return v.way != ipip }
