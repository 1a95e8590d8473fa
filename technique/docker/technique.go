// Package docker measures the networks that Docker Engine itself makes: its default
// bridge and others, host mode, shared namespaces, links, published ports, macvlan
// and ipvlan; and what their hosts can do without it.
package docker

import (
	"context"
	"errors"

	"nettoll/internal/dockerd"
	"nettoll/internal/plumb"
	"nettoll/platform"
	"nettoll/technique"
)

// Technique is one of Docker's networks.
type Technique struct {
	name, about string
	like        string // technique of the lab that it is the real form of, where the names differ
	hosts       []int
	families    []int // IP versions; empty is both
	settings    dockerd.Settings
	needs       []plumb.Need // tried where the engine runs on this machine
	connect     func(context.Context, *network) error
	swarm       bool // its hosts are nodes of one swarm
	// around is what servers share with others on an engine of the user's.
	around platform.Surroundings
	ipvs   string // what of it needs virtual servers of the kernel, if anything
}

// All is every variant, in the order of reports.
func All() []Technique {
	return []Technique{
		{name: "native", hosts: []int{1, 2}, connect: native, around: platform.Surroundings{Outlive: true, Open: true},
			about: "processes of the engines' hosts, outside all containers; the native of every network of Docker"},
		{name: "host", hosts: []int{1, 2}, connect: hostMode, around: platform.Surroundings{Open: true},
			about: "containers with the host's own network (docker run --network host)"},
		{name: "container", like: "sharedns", hosts: []int{1}, connect: sharedMode,
			about: "containers in the network namespace of another (docker run --network container:NAME), which talk over its lo"},
		{name: "bridge", hosts: []int{1}, connect: defaultBridge,
			about: "containers on Docker's default bridge"},
		{name: "bridge-noiptables", hosts: []int{1}, connect: defaultBridge, settings: dockerd.Settings{NoIPTables: true},
			about: "containers on the default bridge of an engine that keeps no firewall rules (dockerd --iptables=false)"},
		{name: "user-bridge", hosts: []int{1}, connect: userBridge,
			about: "containers on a bridge network of one's own (docker network create)"},
		{name: "link", hosts: []int{1}, connect: link, families: []int{4},
			about: "containers on the default bridge; the client reaches the server by a legacy link's name (docker run --link)"},
		{name: "link-noicc", hosts: []int{1}, connect: link, families: []int{4}, settings: dockerd.Settings{NoICC: true},
			about: "the same where containers may talk by links alone (dockerd --icc=false)"},
		{name: "published", hosts: []int{1, 2}, connect: published,
			about: "a published port of the host, translated (DNAT) to a container on the default bridge; the client is a process of a host"},
		{name: "published-proxy", hosts: []int{1, 2}, connect: published, settings: dockerd.Settings{NoIPTables: true},
			about: "a published port of the host that docker-proxy alone serves (dockerd --iptables=false)"},
		{name: "macvlan", hosts: []int{1, 2}, connect: segment("macvlan", ""), needs: []plumb.Need{plumb.Macvlan},
			about: "containers on a macvlan network (bridge mode) of the host's uplink"},
		{name: "ipvlan-l2", hosts: []int{1, 2}, connect: segment("ipvlan", "l2"), needs: []plumb.Need{plumb.IPVlanL2},
			about: "containers on an ipvlan network (L2 mode) of the host's uplink"},
		{name: "ipvlan-l3", hosts: []int{1}, connect: segment("ipvlan", "l3"), needs: []plumb.Need{plumb.IPVlanL3},
			about: "containers on an ipvlan network (L3 mode) of the host's uplink, routed by the host"},
	}
}

// Name implements technique.Technique.
func (t Technique) Name() string { return t.name }

// About implements technique.Technique.
func (t Technique) About() string { return t.about }

// Hosts implements technique.Technique.
func (t Technique) Hosts() []int { return t.hosts }

// Families are the IP versions that it carries; none is both.
func (t Technique) Families() []int { return t.families }

// Surroundings are those of its servers on an engine of the user's.
func (t Technique) Surroundings() platform.Surroundings { return t.around }

// Like is the technique of the lab that it is the real form of, where the names differ.
func (t Technique) Like() string { return t.like }

// maxContainers is how many containers of a host are worth waiting for: an engine
// starts a few in a second.
const maxContainers = 200

// MaxEndpoints is how many containers one host can hold.
func (Technique) MaxEndpoints() int { return maxContainers }

// Probe implements technique.Technique. What only the engine can tell shows when the
// network is built.
func (t Technique) Probe(ctx context.Context, p platform.Platform) error {
	if _, ok := p.(dockerd.Provider); !ok {
		venue := "docker"
		if t.swarm {
			venue = "swarm"
		}
		return &platform.Unsupported{Feature: "a network of Docker's", Option: "the platform " + venue, Remedy: "write " + venue + ":" + t.name}
	}
	if err := t.probeIPVS(p); err != nil {
		return err
	}
	return plumb.Check(ctx, t.needs...)
}

// engines gives hosts whose engines have the technique's settings.
func (t Technique) engines(ctx context.Context, p platform.Platform, req platform.HostRequest) (dockerd.Hosts, error) {
	provider, ok := p.(dockerd.Provider)
	if !ok {
		return nil, t.Probe(ctx, p)
	}
	return provider.Engines(ctx, req, t.settings)
}

// HostsOn gives the very hosts that Connect builds on, as long as they are kept.
func (t Technique) HostsOn(ctx context.Context, p platform.Platform, req platform.HostRequest) (platform.Hosts, error) {
	hosts, err := t.engines(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return hosts, nil
}

// Connect implements technique.Technique.
func (t Technique) Connect(ctx context.Context, topo technique.Topology, p platform.Platform) (technique.Network, error) {
	hosts, err := t.engines(ctx, p, platform.HostRequest{Count: topo.Hosts, Underlay: topo.Underlay, Rules: topo.Rules})
	if err != nil {
		return nil, err
	}
	n := &network{topo: topo, hosts: hosts.Docker(), swarm: hosts.Swarm()}
	n.Push("engines' objects", hosts.Close)
	if t.swarm && n.swarm == nil {
		return nil, n.Abandon(ctx, &platform.Unsupported{Feature: "a network of a swarm's", Option: "engines of a swarm", Remedy: "write swarm:" + t.name})
	}
	if t.settings != (dockerd.Settings{}) {
		n.notes = append(n.notes, "the engine runs with "+t.settings.String())
	}
	if err := t.connect(ctx, n); err != nil {
		return nil, n.Abandon(ctx, err)
	}
	return n, nil
}

// errNoIPv6 is the network's on an engine that gives containers no IPv6 address.
func errNoIPv6(what string) error {
	return &platform.Unsupported{
		Feature: "IPv6 on " + what, Option: "an engine that has it there",
		Remedy: `start dockerd with --ipv6 and --fixed-cidr-v6, or use --private-engine`, Err: errors.New("the container has no IPv6 address"),
	}
}
