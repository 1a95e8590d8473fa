package kube

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"

	"nettoll/internal/plumb"
)

// firstService is the place of the first service of ours in the range of services. The API server gives the lowest
// addresses to services of its own.
const firstService = 16

// ServiceAddr returns the address of service i, from 0.
func ServiceAddr(i int, six bool) netip.Addr { return plumb.ServiceAddr(firstService+i, six) }

// NodePorts is the range of the ports of nodes that services can have: it has the ports of servers, so that these
// have one number everywhere. The usual range begins at 30000.
const NodePorts = "20000-32767"

// service is a service that was made.
type service struct {
	name  string
	addrs []netip.Addr
}

// ServiceAt returns the address of service i, which Expose has made; the zero value if it has none of that IP version.
func (c *Cluster) ServiceAt(i int, six bool) netip.Addr { return of(c.services[i].addrs, six) }

// Expose makes the next service, from 0, whose ports lead to the same ports of a pod. If onNodes is set, they are ports
// of the nodes, too.
func (c *Cluster) Expose(ctx context.Context, i int, to *Pod, ports Ports, onNodes bool) error {
	kind := "ClusterIP"
	if onNodes {
		kind = "NodePort"
	}
	var all []fields
	for port := ports.First; port <= ports.Last; port++ {
		for _, protocol := range []string{"TCP", "UDP"} {
			p := fields{"name": fmt.Sprintf("p%d-%c", port, protocol[0]+'a'-'A'), "port": port, "protocol": protocol}
			if onNodes {
				p["nodePort"] = port
			}
			all = append(all, p)
		}
	}
	s := &service{name: fmt.Sprintf("%sservice-%d", c.prefix, i+1)}
	c.services = append(c.services, s)
	spec := fields{"type": kind, "ipFamilyPolicy": "PreferDualStack", "selector": fields{Label: to.Name}, "ports": all}
	if c.own == nil {
		four, six := ServiceAddr(i, false).String(), ServiceAddr(i, true).String()
		maps.Copy(spec, fields{"clusterIP": four, "clusterIPs": []string{four, six}, "ipFamilies": []string{"IPv4", "IPv6"}, "ipFamilyPolicy": "RequireDualStack"})
	}
	metadata := fields{"name": s.name}
	maps.Copy(metadata, c.look.metadata)
	var made struct {
		Spec struct{ ClusterIPs []netip.Addr }
	}
	err := c.api.Ask(ctx, http.MethodPost, c.in("services"), fields{"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}, &made)
	if err != nil {
		return fmt.Errorf("kubernetes: make %s: %w", s.name, c.refused("services", err))
	}
	s.addrs = made.Spec.ClusterIPs
	return nil
}
