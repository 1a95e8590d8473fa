// Package calico measures Calico: felix, which writes the routes and the rules of each
// container that etcd tells it of, and BIRD, which tells the other hosts by BGP. Packets
// cross the underlay as they are, in IPIP or in VXLAN. What Calico's CNI plugin
// and its node container would do besides (devices, and objects in etcd) is done here.
package calico

import (
	"time"

	"context"
	"fmt"

	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/platform"
)

// Technique is Calico in one of its ways between hosts, with policies or without.
type Technique struct {
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

// NewBGP gives Calico without encapsulation.
func NewBGP(paths program.Paths) Technique { return Technique{paths: paths, way: bgp} }

// NewPolicy gives Calico without encapsulation, with policies.
func NewPolicy(paths program.Paths) Technique {
	return Technique{paths: paths, way: bgp, policies: policies}
}

// NewIPIP gives Calico with the kernel's IPIP tunnels.
func NewIPIP(paths program.Paths) Technique { return Technique{paths: paths, way: ipip} }

// NewVXLAN gives Calico with the kernel's VXLAN tunnels.
func NewVXLAN(paths program.Paths) Technique { return Technique{paths: paths, way: vxlan} }

// Name implements network.Technique.
func (t Technique) Name() string {
	if t.policies > 0 {
		return fmt.Sprintf("calico-%s-policy", t.way)
	}
	return fmt.Sprintf("calico-%s", t.way)
}

// About implements network.Technique.
func (t Technique) About() string {
	about := map[way]string{
		bgp:   "Calico: felix's routes and rules for each container, BIRD between hosts, no encapsulation",
		ipip:  "Calico: felix's routes and rules for each container, BIRD and IPIP tunnels between hosts; MTU 20 below the underlay's",
		vxlan: "Calico: felix's routes and rules for each container, and its VXLAN tunnels between hosts; MTU 70 below the underlay's, as that over IPv6 needs",
	}[t.way]
	if t.policies > 0 {
		about += fmt.Sprintf("; each new connection passes %d network policies of %d rules where it leaves a container, and as many where it enters one", t.policies, rulesOfPolicy)
	}
	return about
}

// Hosts implements network.Technique. On one host all ways are the same.
func (t Technique) Hosts() []int {
	if t.way == bgp && t.policies == 0 {
		return []int{1, 2}
	}
	return []int{2}
}

// Families are the IP versions that it carries: IPIP has none but IPv4.
func (t Technique) Families() []int {
	if t.way == ipip {
		return []int{4}
	}
	return []int{4, 6}
}

// six says whether it carries IPv6.
func (t Technique) six() bool { return t.way != ipip }

// Startup is about what etcd, felix and BIRD take to start and to agree, and to end.
func (Technique) Startup() time.Duration { return 3 * time.Second }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, _ platform.Platform) error {
	if _, err := t.programs(); err != nil {
		return err
	}
	switch t.way {
	case ipip:
		return plumb.Check(ctx, plumb.Veth, plumb.IPIP)
	case vxlan:
		return plumb.Check(ctx, plumb.Veth, plumb.VXLAN)
	}
	return plumb.Check(ctx, plumb.Veth)
}
