package kube

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"nettoll/internal/wrap"
)

// A headless service has no address. What clients learn from the cluster's DNS are the addresses of its pods that are ready,
// which DNS takes from its EndpointSlices. Private clusters have no DNS, so nettoll reads these itself.

// noAddr is the address of services that have none.
const noAddr = "None"

// madeService is what the API server says of a service that it has made.
type madeService struct {
	Metadata struct{ UID string }
	Spec     struct{ ClusterIPs, IPFamilies []string }
}

// addrs returns the addresses of a service that is not headless.
func (s madeService) addrs() (all []netip.Addr, err error) {
	for _, text := range s.Spec.ClusterIPs {
		at, err := netip.ParseAddr(text)
		if err != nil {
			return nil, err
		}
		all = append(all, at)
	}
	return all, nil
}

// endpointSlice is what the API says of some of a service's endpoints.
type endpointSlice struct {
	Metadata  struct{ OwnerReferences []struct{ UID string } }
	Endpoints []struct {
		Addresses  []netip.Addr
		Conditions struct{ Ready *bool }
	}
}

// EndpointAt returns the address that service i names, which Expose has made; the zero value if it names none of that IP version.
func (c *Cluster) EndpointAt(i int, six bool) netip.Addr { return of(c.services[i].named, six) }

// name waits until a service names its pod: with an address of each IP version that both have.
func (c *Cluster) name(ctx context.Context, s *service, made madeService, to *Pod) error {
	path := slicesIn(c.namespace) + "?labelSelector=" + url.QueryEscape("kubernetes.io/service-name="+s.name)
	err := c.until(ctx, func(ctx context.Context) (missing, err error) {
		var all struct{ Items []endpointSlice }
		if err := c.api.Ask(ctx, http.MethodGet, path, nil, &all); err != nil {
			return nil, c.refused("endpointslices", err)
		}
		s.named = nil
		for _, part := range all.Items {
			s.named = append(s.named, part.ready(made.Metadata.UID)...)
		}
		for six, family := range map[bool]string{false: "IPv4", true: "IPv6"} {
			if slices.Contains(made.Spec.IPFamilies, family) && to.Addr(six).IsValid() && !of(s.named, six).IsValid() {
				missing = errors.New("no EndpointSlice names an " + family + " address that is ready")
			}
		}
		return missing, nil
	})
	return wrap.Error(err, "kubernetes: find the endpoint of %s", s.name)
}

// ready returns the addresses of endpoints that are ready, if the slice belongs to the service with a UID: for a moment there
// may still be slices of one that had the same name, which was removed with the network before.
func (e endpointSlice) ready(service string) (all []netip.Addr) {
	for _, owner := range e.Metadata.OwnerReferences {
		if owner.UID != service {
			continue
		}
		for _, one := range e.Endpoints {
			if one.Conditions.Ready == nil || *one.Conditions.Ready { // nil: not known, which counts as ready
				all = append(all, one.Addresses...)
			}
		}
	}
	return all
}
