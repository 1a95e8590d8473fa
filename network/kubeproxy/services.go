package kubeproxy

import (
	"net/netip"
	"slices"

	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/record"
)

// namespace is the namespace of the services.
const namespace = "default"

// objects returns services without selectors, of both IP versions, with their endpoints.
func objects(services []kube.Fixed) []kube.Object {
	return slices.Concat(record.Each(services, func(s kube.Fixed) []kube.Object { return s.Objects(namespace, nil) })...)
}

// services returns the services: one for each server, and the further ones, which nobody uses.
func services(n *plumb.Network) (all []kube.Fixed) {
	for i, server := range n.Servers {
		all = append(all, ofServer(i, n, server))
	}
	port, _ := n.Topo.Ports(0)
	return append(all, kube.Further(len(n.Servers), n.Topo.Services, addrs(n.Servers[0]), port)...)
}

// ofServer returns the service of server i: each port of the server is one of the service.
func ofServer(i int, n *plumb.Network, to *plumb.Node) kube.Fixed {
	var ports kube.Ports
	ports.First, ports.Last = n.Topo.Ports(i)
	all := ports.Named()
	return kube.Fixed{Name: kube.ServiceName(i), At: kube.ServiceAddrs(i), Ports: all, To: addrs(to), Targets: all}
}

func addrs(n *plumb.Node) []netip.Addr { return []netip.Addr{n.Addr4, n.Addr6} }

func node(h *plumb.Host) kube.Object {
	var at []map[string]string
	for _, six := range []bool{false, true} {
		at = append(at, map[string]string{"type": "InternalIP", "address": h.OnUnderlay(six).String()})
	}
	return kube.Object{In: "/api/v1/nodes", Name: h.Name(), Body: map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]string{"name": h.Name()}, "status": map[string]any{"addresses": at},
	}}
}

// served returns how many ports each address of a service has.
func served(services []kube.Fixed) map[netip.Addr]int {
	all := map[netip.Addr]int{}
	for _, s := range services {
		for _, at := range s.At {
			all[at] = len(s.Ports)
		}
	}
	return all
}
