// Package docker measures the networks that Docker Engine itself makes: its default bridge and
// others, host mode, shared namespaces, links, published ports, macvlan and ipvlan, and overlays and
// services of swarms; and, for comparison, processes of the engines' hosts outside all containers.
package docker

import (
	"context"
	"errors"
	"io/fs"
	"math"

	"nettoll/docker/engine"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// variant is one of Docker's networks.
type variant struct {
	network.Info
	settings engine.Settings
	needs    []plumb.Need // checked where the engine runs on this machine
	connect  func(context.Context, *build) error
	swarm    bool   // its hosts are nodes of one swarm
	podman   bool   // Podman has it, too, and makes it as Docker does
	ipvs     string // the feature that needs virtual servers of the kernel, if any
}

// All returns every variant outside swarms, in the order of reports.
func All() []network.Driver {
	return drivers([]variant{
		{connect: native, podman: true, Info: network.Info{
			Name: "native", Hosts: []int{1, 2}, Between: true, Around: platform.Surroundings{Outlive: true, Open: true},
			About: "processes of the engines' hosts, outside all containers; the native of every network of Docker",
		}},
		{connect: hostMode, podman: true, Info: network.Info{
			Name: "host", Hosts: []int{1, 2}, Between: true, Around: platform.Surroundings{Open: true},
			About: "containers with the host's own network (docker run --network host)",
		}},
		{connect: sharedMode, podman: true, Info: network.Info{
			Name: "container", Like: "sharedns", Hosts: []int{1},
			About: "containers in the network namespace of another (docker run --network container:NAME), which talk over its lo",
		}},
		{connect: defaultBridge, podman: true, Info: network.Info{
			Name: "bridge", Hosts: []int{1},
			About: "containers on Docker's default bridge",
		}},
		{connect: defaultBridge, settings: engine.Settings{NoIPTables: true}, Info: network.Info{
			Name: "bridge-noiptables", Hosts: []int{1},
			About: "containers on the default bridge of an engine that keeps no firewall rules (dockerd --iptables=false)",
		}},
		{connect: defaultBridge, settings: engine.Settings{NFTables: true}, Info: network.Info{
			Name: "bridge-nftables", Hosts: []int{1},
			About: "containers on the default bridge of an engine whose firewall rules are in nftables (dockerd --firewall-backend=nftables)",
		}},
		{connect: userBridge, podman: true, Info: network.Info{
			Name: "user-bridge", Hosts: []int{1},
			About: "containers on a bridge network of one's own (docker network create)",
		}},
		{connect: link, Info: network.Info{
			Name: "link", Hosts: []int{1}, Families: []int{4},
			About: "containers on the default bridge; the client reaches the server by a legacy link's name (docker run --link)",
		}},
		{connect: link, settings: engine.Settings{NoICC: true}, Info: network.Info{
			Name: "link-noicc", Hosts: []int{1}, Families: []int{4},
			About: "as docker:link, but containers may talk by links alone (dockerd --icc=false)",
		}},
		{connect: published, podman: true, Info: network.Info{
			Name: "published", Hosts: []int{1, 2},
			About: "a published port of the host, translated (DNAT) to a container on the default bridge; the client is a process of a host",
		}},
		{connect: published, settings: engine.Settings{NFTables: true}, Info: network.Info{
			Name: "published-nftables", Hosts: []int{1, 2},
			About: "as docker:published, but the engine's firewall rules are in nftables (dockerd --firewall-backend=nftables)",
		}},
		{connect: published, settings: engine.Settings{NoIPTables: true}, Info: network.Info{
			Name: "published-proxy", Hosts: []int{1, 2}, Relays: true, Carried: true,
			About: "a published port of the host that docker-proxy alone serves (dockerd --iptables=false)",
		}},
		{connect: segment("macvlan", ""), needs: []plumb.Need{plumb.Macvlan}, Info: network.Info{
			Name: "macvlan", Hosts: []int{1, 2},
			About: "containers on a macvlan network (bridge mode) of the host's uplink",
		}},
		{connect: segment("ipvlan", "l2"), needs: []plumb.Need{plumb.IPVlanL2}, Info: network.Info{
			Name: "ipvlan-l2", Hosts: []int{1, 2},
			About: "containers on an ipvlan network (L2 mode) of the host's uplink",
		}},
		{connect: segment("ipvlan", "l3"), needs: []plumb.Need{plumb.IPVlanL3}, Info: network.Info{
			Name: "ipvlan-l3", Hosts: []int{1},
			About: "containers on an ipvlan network (L3 mode) of the host's uplink, routed by the host",
		}},
	})
}

func drivers(all []variant) (of []network.Driver) {
	for _, v := range all {
		v.Endpoints = maxContainers
		of = append(of, network.Driver{Info: v.Info, Probe: v.probe, Connect: v.build, HostsOn: v.hostsOn})
	}
	return of
}

// maxContainers is how many containers of a host are worth waiting for: an engine starts a few per
// second.
const maxContainers = 200

func (v variant) provider(p platform.Platform) (engine.Provider, error) {
	venue := "docker"
	if v.swarm {
		venue = "swarm"
	}
	return platform.As[engine.Provider](p, "a network of Docker", venue, v.Name)
}

// probe checks what can be checked without an engine. What only the engine knows shows when the
// network is built.
func (v variant) probe(ctx context.Context, p platform.Platform) error {
	on, err := v.provider(p)
	if err == nil {
		err = v.probeIPVS(on)
	}
	if err == nil && on.Private() {
		err = v.settings.Supported(ctx)
	}
	if err != nil {
		return err
	}
	if err := plumb.Check(ctx, v.needs...); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil // an ordinary user cannot try, and the engine need not be one's
}

// engines returns hosts whose engines have the network's settings.
func (v variant) engines(ctx context.Context, p platform.Platform, req platform.HostRequest) (*engine.Hosts, error) {
	on, err := v.provider(p)
	if err != nil {
		return nil, err
	}
	return on.Engines(ctx, req, v.settings)
}

// hostsOn returns hosts. As long as these are kept, Connect builds on them.
func (v variant) hostsOn(ctx context.Context, p platform.Platform, req platform.HostRequest) (platform.Hosts, error) {
	return v.engines(ctx, p, req)
}

func (v variant) build(ctx context.Context, topo network.Topology, p platform.Platform) (*network.Network, error) {
	hosts, err := v.engines(ctx, p, topo.HostRequest())
	if err != nil {
		return nil, err
	}
	n := begin(topo, hosts)
	if v.swarm && n.swarm == nil {
		return nil, n.Abandon(ctx, &platform.Unsupported{Feature: "a network of a swarm", Option: "engines of a swarm", Remedy: "write swarm:" + v.Name})
	}
	if v.settings != (engine.Settings{}) {
		n.Notes = append(n.Notes, "the engine runs with "+v.settings.String())
	}
	if n.Topo, err = topo.Beside(n.engines[0].Place(), math.MaxUint16); err == nil {
		err = v.alsoPodman(ctx, n.engines)
	}
	if err == nil {
		err = v.connect(ctx, n)
	}
	if err != nil {
		return nil, n.Abandon(ctx, err)
	}
	return n.standing(), nil
}

// alsoPodman returns an error if an engine is Podman, which does not have the network, or makes it in another way: its macvlan has the
// machine's own network card as parent.
func (v variant) alsoPodman(ctx context.Context, engines []*engine.Host) error {
	for _, h := range engines {
		version, err := h.Engine.Podman(ctx)
		if err != nil {
			return err
		}
		if version != "" && !v.podman {
			return &platform.Unsupported{
				Feature: "docker:" + v.Name + " on Podman", Option: "Docker Engine", Err: errors.New("the engine is Podman " + version),
				Remedy: "name a Docker engine with --docker-host, or use --private-engine",
			}
		}
	}
	return nil
}

// errNoIPv6 is the network's error on an engine that gives containers no IPv6 address.
func errNoIPv6(what string) error {
	return &platform.Unsupported{
		Feature: "IPv6 on " + what, Option: "an engine that gives containers IPv6 addresses there",
		Remedy: `start dockerd with --ipv6 and --fixed-cidr-v6, or use --private-engine`, Err: errors.New("the container has no IPv6 address"),
	}
}
