// Package routedbgp measures Calico's datapath, built by hand: no bridge, a route to each
// container over its own veth device, and routes to the other hosts' containers that BIRD
// learns by BGP. Variants have the rules that felix writes for network policies in
// front of each container.
package routedbgp

import (
	"context"
	"fmt"
	"time"

	"nettoll/internal/bird"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
)

// variant is the datapath, with policies or without.
type variant struct {
	paths    program.Paths
	policies int // in front of each container
}

const about = "Calico's datapath by hand: a route to each container over its own veth device (proxy ARP, no bridge), and BIRD, which tells the other hosts of it by BGP"

// New is the datapath alone.
func New(paths program.Paths) network.Driver {
	return variant{paths: paths}.driver("routed-bgp", about, plumb.Veth)
}

// NewPolicy is the same with policies.
func NewPolicy(paths program.Paths) network.Driver {
	return variant{paths, policies}.driver("routed-bgp-policy",
		about+fmt.Sprintf("; each new connection passes %d network policies of %d rules where it leaves a container, and as many where it enters one", policies, rulesOfPolicy),
		plumb.Veth, plumb.NAT) // with the latter, rules of nf_tables work
}

func (v variant) driver(name, about string, needs ...plumb.Need) network.Driver {
	return plumb.Recipe{
		Info:  network.Info{Name: name, About: about, Hosts: []int{1, 2}, Startup: 2 * time.Second},
		Needs: needs,
		Have: func(context.Context) error {
			_, err := bird.Find(v.paths)
			return err
		},
		Build: v.build,
	}.Driver()
}
