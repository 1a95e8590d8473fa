package kube

import (
	"context"
	"fmt"
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

// Expose makes service i, whose ports lead to the same ports of a pod. If onNodes is set, they are ports of the nodes,
// too.
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
	name := fmt.Sprintf("service-%d", i+1)
	four, six := ServiceAddr(i, false).String(), ServiceAddr(i, true).String()
	c.services = append(c.services, namespace+"services/"+name)
	err := c.Server.Ask(ctx, http.MethodPost, namespace+"services", fields{
		"apiVersion": "v1", "kind": "Service", "metadata": fields{"name": name},
		"spec": fields{
			"type": kind, "clusterIP": four, "clusterIPs": []string{four, six}, "ipFamilies": []string{"IPv4", "IPv6"}, "ipFamilyPolicy": "RequireDualStack",
			"selector": fields{Label: to.Name}, "ports": all,
		},
	}, nil)
	if err != nil {
		return fmt.Errorf("kubernetes: make %s: %w", name, err)
	}
	return nil
}
