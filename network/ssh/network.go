// Package ssh measures networks between machines that the user reaches by ssh, over whatever network is between them:
// between processes of the machines themselves, and between containers that nettoll connects there.
package ssh

import (
	"context"
	"math"

	"nettoll/internal/plumb"
	"nettoll/internal/remote"
	"nettoll/internal/wrap"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// All returns every network, in the order of reports.
func All() []network.Driver {
	return append([]network.Driver{native()}, record.Each(overlays, overlay.driver)...)
}

// native returns the driver of processes of the machines, the baseline of all others.
func native() network.Driver {
	info := network.Info{
		Name: "native", Hosts: []int{1, 2}, Between: true, Around: platform.Surroundings{Outlive: true, Open: true},
		About: "processes of machines reached by ssh, over the machines' own network; the native of every network between them",
	}
	return network.Driver{
		Info: info, Probe: probe(info.Name),
		Connect: func(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
			n, err := begin(ctx, info.Name, topo, p)
			if err != nil {
				return nil, err
			}
			n.onMachines()
			hops := plumb.HostHops
			if topo.Hosts == 1 { // others use the card, so it cannot be proved that the payload does not cross it
				hops = plumb.LoopbackHops
			}
			n.Hops = plumb.Common(hops)
			return n.standing(), nil
		},
	}
}

// probe returns a check of the platform; the machines themselves are tried when the network is built.
func probe(name string) func(context.Context, platform.Platform) error {
	return func(_ context.Context, p platform.Platform) error {
		_, err := provider(name, p)
		return err
	}
}

func provider(name string, p platform.Platform) (remote.Provider, error) {
	return platform.As[remote.Provider](p, "a network of machines", "ssh", name)
}

// build is a network under construction: a site whose hosts are machines.
type build struct {
	*plumb.Network
	machines []*remote.Host // the hosts, in order
	spaces   [][]string     // the namespaces of each one's containers
}

func begin(ctx context.Context, name string, topo network.Topology, p platform.Platform) (*build, error) {
	on, err := provider(name, p)
	if err != nil {
		return nil, err
	}
	hosts, err := on.Machines(ctx, topo.HostRequest())
	if err != nil {
		return nil, err
	}
	site := &plumb.Site{Beside: hosts.Machines[0].Place()}
	site.Push("containers", hosts.Close)
	if site.Topo, err = topo.Beside(site.Beside, math.MaxUint16); err != nil { // servers of all networks share the ports of the machines
		return nil, site.Abandon(ctx, err)
	}
	for i, h := range hosts.Machines {
		site.Hosts = append(site.Hosts, &plumb.Host{Host: h, Devices: devicesIn(h.In("")), Index: i})
	}
	n := &build{Network: &plumb.Network{Site: site}, machines: hosts.Machines, spaces: make([][]string, len(hosts.Machines))}
	n.Check = func(context.Context) error {
		return record.Try(hosts.Machines, func(h *remote.Host) error { return wrap.Error(h.Err(), "%s is lost", h.Name()) })
	}
	return n, nil
}

func devicesIn(space remote.Container) plumb.Devices {
	return plumb.Devices{List: space.Interfaces, Agent: space.Agent(), Space: space.Space}
}

// onMachines makes the machines themselves the servers and clients. One machine talks to itself over lo; two reach each
// other at the addresses of their uplinks.
func (n *build) onMachines() {
	n.OnHosts()
	if len(n.Hosts) > 1 {
		n.Refuse = plumb.Unaddressed
	}
}

func (n *build) standing() *network.Network {
	all := n.Standing()
	all.Distant, all.FirstPort = true, n.Topo.FirstPort
	return all
}
