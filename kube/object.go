package kube

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"path"

	"nettoll/internal/atonce"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// Object is an object of the API that is to be made.
type Object struct {
	In   string // the path of its kind
	Name string
	Body map[string]any
}

// Path returns the object's path.
func (o Object) Path() string { return o.In + "/" + o.Name }

// MakeAll makes objects, atOnce at a time.
func (a *API) MakeAll(ctx context.Context, atOnce int, all []Object) error {
	return atonce.All(ctx, atOnce, all, func(ctx context.Context, _ int, o Object) error {
		return wrap.Error(a.Ask(ctx, http.MethodPost, o.In, o.Body, nil), "make %s %s", path.Base(o.In), o.Name)
	})
}

// RemoveAll removes objects of kinds that are gone at once, atOnce at a time. Some may not have been made.
func (a *API) RemoveAll(ctx context.Context, atOnce int, all []Object) error {
	return atonce.All(ctx, atOnce, all, func(ctx context.Context, _ int, o Object) error {
		if err := a.Ask(ctx, http.MethodDelete, o.Path(), nil, nil); err != nil && !Absent(err) {
			return fmt.Errorf("remove %s %s: %w", path.Base(o.In), o.Name, err)
		}
		return nil
	})
}

// Port is a port of a service, or of its endpoint; the two have one name.
type Port struct {
	Name     string
	Number   int
	Protocol string // TCP or UDP
}

// Named returns the ports, of TCP and of UDP.
func (p Ports) Named() (all []Port) {
	for port := p.First; port <= p.Last; port++ {
		all = append(all, Port{fmt.Sprintf("tcp-%d", port), port, "TCP"}, Port{fmt.Sprintf("udp-%d", port), port, "UDP"})
	}
	return all
}

// fieldsOf returns ports as objects have them.
func fieldsOf(ports []Port) []fields {
	return record.Each(ports, func(p Port) fields { return fields{"name": p.Name, "port": p.Number, "protocol": p.Protocol} })
}

// Fixed is a service without a selector: its endpoint is written down, not found among pods.
type Fixed struct {
	Name  string
	At    []netip.Addr // its addresses, IPv4 first; none: the API server gives it some
	Ports []Port
	// To are the addresses of the endpoint, and Targets its ports.
	To      []netip.Addr
	Targets []Port
}

// Where objects of a namespace are made.
func servicesIn(namespace string) string { return "/api/v1/namespaces/" + namespace + "/services" }
func slicesIn(namespace string) string {
	return "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices"
}

// mostPorts is how many ports one EndpointSlice may have, by the description of the API. Kube-proxy puts
// those of a service together.
const mostPorts = 100

// Objects returns the service and its EndpointSlices, in a namespace. metadata is added to that of each.
func (f Fixed) Objects(namespace string, metadata map[string]any) []Object {
	all := []Object{{servicesIn(namespace), f.Name, fields{
		"apiVersion": "v1", "kind": "Service", "metadata": described(f.Name, metadata, nil), "spec": onBoth(fields{"ports": fieldsOf(f.Ports)}, f.At),
	}}}
	for _, at := range f.To {
		family := "IPv4"
		if at.Is6() {
			family = "IPv6"
		}
		for first := 0; first < len(f.Targets); first += mostPorts {
			name := fmt.Sprintf("%s-%c-%d", f.Name, family[len(family)-1], first)
			all = append(all, Object{slicesIn(namespace), name, fields{
				"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
				"metadata":  described(name, metadata, fields{"kubernetes.io/service-name": f.Name, "endpointslice.kubernetes.io/managed-by": "nettoll"}),
				"ports":     fieldsOf(f.Targets[first:min(first+mostPorts, len(f.Targets))]),
				"endpoints": []fields{{"addresses": []string{at.String()}, "conditions": fields{"ready": true}}},
			}})
		}
	}
	return all
}

// onBoth gives a service both IP versions: with the given addresses, or, if there are none, with those of the versions that
// the cluster has.
func onBoth(spec fields, at []netip.Addr) fields {
	if len(at) == 0 {
		spec["ipFamilyPolicy"] = "PreferDualStack"
		return spec
	}
	spec["clusterIP"], spec["clusterIPs"] = at[0], at
	spec["ipFamilies"], spec["ipFamilyPolicy"] = []string{"IPv4", "IPv6"}, "RequireDualStack"
	return spec
}

// described returns the metadata of an object: what many have in common, its name, and labels of its own.
func described(name string, common, labels fields) fields {
	all, own := fields{"name": name}, fields{}
	for key, value := range common {
		if key == "labels" {
			maps.Copy(own, value.(fields))
		} else {
			all[key] = value
		}
	}
	maps.Copy(own, labels)
	if len(own) > 0 {
		all["labels"] = own
	}
	return all
}
