package kubeproxy

import (
	"fmt"
	"iter"
	"net/netip"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// firstService is the place of the first service of ours in the range of services. The API server gives the lowest
// address to a service of its own.
const firstService = 16

// clusterIP returns the address of service i, from 0: those of the servers come first.
func clusterIP(i int, six bool) netip.Addr { return plumb.ServiceAddr(firstService+i, six) }

// object is an object of Kubernetes' API: a node, a service, or endpoints of one.
type object struct {
	Kind        string       `json:"kind"`
	APIVersion  string       `json:"apiVersion"`
	Metadata    metadata     `json:"metadata"`
	Spec        *serviceSpec `json:"spec,omitempty"`        // of a service
	Status      *nodeStatus  `json:"status,omitempty"`      // of a node
	AddressType string       `json:"addressType,omitempty"` // of endpoints, like the rest
	Ports       []port       `json:"ports,omitempty"`
	Endpoints   []endpoint   `json:"endpoints,omitempty"`
}

type metadata struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

type nodeStatus struct {
	Addresses []nodeAddress `json:"addresses"`
}

type nodeAddress struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

type serviceSpec struct {
	ClusterIP      string   `json:"clusterIP"`
	ClusterIPs     []string `json:"clusterIPs"`
	IPFamilies     []string `json:"ipFamilies"`
	IPFamilyPolicy string   `json:"ipFamilyPolicy"`
	Ports          []port   `json:"ports"`
}

type port struct {
	Name     string `json:"name"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
}

type endpoint struct {
	Addresses  []string        `json:"addresses"`
	Conditions map[string]bool `json:"conditions"`
}

// path returns where objects of its kind are made.
func (o object) path() string {
	switch o.Kind {
	case "Node":
		return "/api/v1/nodes"
	case "Service":
		return "/api/v1/namespaces/default/services"
	default:
		return "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
	}
}

// objects returns all objects of a network: a node for each host, and services without selectors, of both
// IP versions, with their endpoints: one for each server, and the further ones, which nobody uses.
func objects(n *plumb.Network) iter.Seq[object] {
	return func(yield func(object) bool) {
		for _, h := range n.Site.Hosts {
			if !yield(node(h)) {
				return
			}
		}
		for i, server := range n.Servers {
			ports := portsOf(n.Topo.Ports(i))
			for _, o := range service(i, ports, ports, server) {
				if !yield(o) {
					return
				}
			}
		}
		first, _ := n.Topo.Ports(0)
		for i := range n.Topo.Services {
			for _, o := range service(len(n.Servers)+i, []port{{"http", 80, "TCP"}}, []port{{"http", first, "TCP"}}, n.Servers[0]) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

func node(h *plumb.Host) object {
	o := object{Kind: "Node", APIVersion: "v1", Metadata: metadata{Name: h.Name()}, Status: &nodeStatus{}}
	for _, six := range []bool{false, true} {
		o.Status.Addresses = append(o.Status.Addresses, nodeAddress{"InternalIP", h.OnUnderlay(six).String()})
	}
	return o
}

// portsOf returns the ports from first to last, of TCP and of UDP.
func portsOf(first, last int) (all []port) {
	for p := first; p <= last; p++ {
		all = append(all, port{fmt.Sprintf("tcp-%d", p), p, "TCP"}, port{fmt.Sprintf("udp-%d", p), p, "UDP"})
	}
	return all
}

// mostPorts is how many ports one EndpointSlice may have, by the description of the API. Kube-proxy puts
// those of a service together.
const mostPorts = 100

// service returns service i and its EndpointSlices: its ports lead to those of a container that have the
// same names.
func service(i int, ports, endpoints []port, to *plumb.Node) []object {
	name := fmt.Sprintf("service-%d", i+1)
	four, six := clusterIP(i, false).String(), clusterIP(i, true).String()
	all := []object{{
		Kind: "Service", APIVersion: "v1", Metadata: metadata{Name: name},
		Spec: &serviceSpec{
			ClusterIP: four, ClusterIPs: []string{four, six}, IPFamilies: []string{"IPv4", "IPv6"}, IPFamilyPolicy: "RequireDualStack",
			Ports: ports,
		},
	}}
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		for first := 0; first < len(endpoints); first += mostPorts {
			all = append(all, object{
				Kind: "EndpointSlice", APIVersion: "discovery.k8s.io/v1", AddressType: fmt.Sprintf("IPv%d", f),
				Metadata:  metadata{Name: fmt.Sprintf("%s-%d-%d", name, f, first), Labels: map[string]string{"kubernetes.io/service-name": name}},
				Ports:     endpoints[first:min(first+mostPorts, len(endpoints))],
				Endpoints: []endpoint{{[]string{to.Addr(f).String()}, map[string]bool{"ready": true}}},
			})
		}
	}
	return all
}
