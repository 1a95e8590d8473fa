package docker

import (
	"nettoll/internal/dockerd"
	"nettoll/platform"
)

// only4 is because engines (20.10) number the IPv6 addresses of an overlay each for
// itself, so that containers of two nodes have the same one, and tell the other nodes of
// IPv4 neighbours alone.
var only4 = []int{4}

// Swarm is every network of engines that are nodes of one swarm, in the order of reports.
func Swarm() []Technique {
	all := []Technique{
		{name: "native", hosts: []int{1, 2}, connect: native, around: platform.Surroundings{Outlive: true, Open: true},
			about: "processes of the nodes' hosts, outside all containers; the native of every network of Swarm"},
		{name: "host", hosts: []int{1, 2}, connect: hostMode, around: platform.Surroundings{Open: true},
			about: "containers with the node's own network (docker run --network host)"},
		{name: "overlay", like: "vxlan", hosts: []int{1, 2}, connect: overlay, families: only4,
			about: "containers on an attachable overlay network (VXLAN) of a swarm"},
		{name: "overlay-encrypted", hosts: []int{1, 2}, connect: encrypted, families: only4,
			about: "the same with encryption between nodes (docker network create --opt encrypted: IPsec ESP); on one host Docker encrypts nothing"},
		{name: "service-dnsrr", hosts: []int{1, 2}, connect: service(false), families: only4,
			about: "services of one task on an overlay; the client, a container, reaches the task by the service's name (--endpoint-mode dnsrr)"},
		{name: "service-vip", hosts: []int{1, 2}, connect: service(true), families: only4, ipvs: virtualIPs,
			about: "services of one task on an overlay; the client, a container, reaches the service's virtual IP, which IPVS leads to the task"},
		{name: "mesh", hosts: []int{1, 2}, connect: mesh, families: only4, ipvs: routingMesh,
			about: "a published port of a service (routing mesh); the client is a process of a node and reaches the port at its own node, from where IPVS and the ingress overlay lead to the task"},
	}
	for i := range all {
		all[i].swarm = true
	}
	return all
}

// private is a platform that may start engines of its own, on this machine.
type private interface{ Private() bool }

// probeIPVS says whether the technique can be had of private engines. What the kernels of
// the user's engines have shows when the network is built.
func (t Technique) probeIPVS(p platform.Platform) error {
	own, ok := p.(private)
	if t.ipvs == "" || !ok || !own.Private() {
		return nil
	}
	has, err := dockerd.HasIPVS()
	if err == nil && !has {
		err = noIPVS(t.ipvs, "this machine")
	}
	return err
}
