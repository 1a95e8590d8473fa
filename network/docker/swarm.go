package docker

import (
	"nettoll/docker/engine"
	"nettoll/network"
	"nettoll/platform"
)

// only4 excludes IPv6: each engine (20.10) assigns the IPv6 addresses of an overlay on its own, so
// that containers of two nodes have the same one, and announces only IPv4 neighbours to the other
// nodes.
var only4 = []int{4}

// Swarm returns every network of engines that are nodes of one swarm, in the order of reports.
func Swarm() []network.Driver {
	all := []variant{
		{connect: native, Info: network.Info{
			Name: "native", Hosts: []int{1, 2}, Between: true, Around: platform.Surroundings{Outlive: true, Open: true},
			About: "processes of the nodes' hosts, outside all containers; the native of every network of Swarm",
		}},
		{connect: hostMode, Info: network.Info{
			Name: "host", Hosts: []int{1, 2}, Between: true, Around: platform.Surroundings{Open: true},
			About: "containers with the node's own network (docker run --network host)",
		}},
		{connect: overlay, Info: network.Info{
			Name: "overlay", Like: "vxlan", Hosts: []int{1, 2}, Between: true, Families: only4,
			About: "containers on an attachable overlay network (VXLAN) of a swarm",
		}},
		{connect: encrypted, Info: network.Info{
			Name: "overlay-encrypted", Hosts: []int{1, 2}, Between: true, Families: only4,
			About: "as swarm:overlay, with encryption between nodes (docker network create --opt encrypted: IPsec ESP); on one host Docker encrypts nothing",
		}},
		{connect: service(false), Info: network.Info{
			Name: "service-dnsrr", Hosts: []int{1, 2}, Between: true, Families: only4,
			About: "services of one task on an overlay; the client, a container, reaches the task by the service's name (--endpoint-mode dnsrr)",
		}},
		{connect: service(true), ipvs: virtualIPs, Info: network.Info{
			Name: "service-vip", Hosts: []int{1, 2}, Between: true, Families: only4,
			About: "services of one task on an overlay; the client, a container, reaches the service's virtual IP, which IPVS leads to the task",
		}},
		{connect: mesh, ipvs: routingMesh, Info: network.Info{
			Name: "mesh", Hosts: []int{1, 2}, Families: only4,
			About: "a published port of a service (routing mesh); the client is a process of a node and reaches the port at its own node, from where IPVS and the ingress overlay lead to the task",
		}},
	}
	for i := range all {
		all[i].swarm = true
	}
	return drivers(all)
}

// probeIPVS checks whether private engines can run the network. Whether the kernels of the user's
// engines can shows when the network is built.
func (v variant) probeIPVS(p engine.Provider) error {
	if v.ipvs == "" || !p.Private() {
		return nil
	}
	has, err := engine.HasIPVS()
	if err == nil && !has {
		err = noIPVS(v.ipvs, "this machine")
	}
	return err
}
